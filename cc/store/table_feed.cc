#include "cc/store/table_feed.h"

#include <algorithm>
#include <utility>

#include "cc/store/id_groups.h"

namespace persia {
namespace {

// A walk for changes may pass many rows that have not changed. One call passes
// at most about kMostPassed times the rows requested, so that it ends soon.
constexpr size_t kMostPassed = 16;

}  // namespace

TableFeed::TableFeed(std::shared_ptr<const Table> table,
                     const SubShards* sub_shards, SaveScope scope,
                     size_t walked, const FeedForm& form)
    : table_(std::move(table)),
      sub_shards_(*sub_shards),
      scope_(scope),
      form_(form),
      walked_(walked) {}

// Delegates to the other constructor, so that the destructor runs if the body
// throws, and unfollows the sub-shards followed until then.
TableFeed::TableFeed(std::shared_ptr<const Table> table,
                     const SubShards* sub_shards, FeedStart start,
                     const FeedForm& form)
    : TableFeed(std::move(table), sub_shards,
                start == FeedStart::kLastSave ? SaveScope::kChanges
                                              : SaveScope::kWhole,
                start == FeedStart::kNow ? sub_shards->size() : 0, form) {
  touched_.reserve(sub_shards_.size());
  for (const auto& sub_shard : sub_shards_) {
    TouchedRows* const touched = sub_shard->Follow(scope_);
    if (touched == nullptr) return;
    touched_.push_back(touched);
  }
}

TableFeed::~TableFeed() {
  for (size_t s = 0; s < touched_.size(); ++s) {
    sub_shards_[s]->Unfollow(touched_[s]);
  }
}

bool TableFeed::Take(size_t count, RowDelta* delta) {
  const size_t end = delta->size() + count;
  if (!is_walking() && gained_.any()) BeginWalkOverGained();
  if (is_walking()) {
    Walk(end, delta);
    // Rows that changed after the walk passed them are left for the next call.
    return is_walking() || gained_.any() || AnyTouched();
  }
  const uint32_t now = table_->time();
  bool more = false;
  for (size_t i = 0; i < sub_shards_.size(); ++i) {
    if (delta->size() >= end) return more || AnyTouched();
    const size_t most = std::min(end - delta->size(), kMostRowsALock);
    more |= sub_shards_[next_]->TellTouched(form_, most, now, touched_[next_],
                                            delta);
    next_ = (next_ + 1) % sub_shards_.size();
  }
  return more;
}

// Changes of slots that the feed did not have were not recorded, but a gained
// slot's changes are from now on: so each of its rows is either still ahead of
// the walk or was reported, as with the first walk.
void TableFeed::UseSlots(std::shared_ptr<const SlotSet> slots,
                         const SlotSet& gained) {
  form_.slots = std::move(slots);
  gained_ |= gained;
  if (form_.slots != nullptr) gained_ &= *form_.slots;
}

void TableFeed::BeginWalkOverGained() {
  only_ = std::make_unique<const SlotSet>(gained_);
  gained_.reset();
  scope_ = SaveScope::kWhole;
  walked_ = 0;
  next_hash_ = 0;
}

void TableFeed::Walk(size_t end, RowDelta* delta) {
  const uint32_t now = table_->time();
  size_t passed = 0;
  const size_t most = kMostPassed * std::max(end, kMostRowsALock);
  while (is_walking() && delta->size() < end && passed < most) {
    const size_t least = std::min(end - delta->size(), kMostRowsALock);
    next_hash_ =
        sub_shards_[walked_]->TellWalked(scope_, form_, only_.get(), next_hash_,
                                         least, now, touched_[walked_], delta);
    // The walk may reach the end of the sub-shard before `least` rows.
    passed += next_hash_ == 0 ? 1 : least;
    if (next_hash_ == 0) ++walked_;
  }
}

void TableFeed::Read(Span<const int64_t> ids, RowDelta* delta) {
  thread_local IdGroups groups;
  groups.Build(ids);
  const uint32_t now = table_->time();
  for (size_t s = 0; s < sub_shards_.size(); ++s) {
    Span<const int64_t> rest = groups.ids(s);
    while (!rest.empty()) {
      const size_t count = std::min(rest.size(), kMostRowsALock);
      sub_shards_[s]->Tell(form_, rest.first(count), now, delta);
      rest = rest.subspan(count);
    }
  }
}

bool TableFeed::AnyTouched() const {
  for (size_t s = 0; s < sub_shards_.size(); ++s) {
    if (sub_shards_[s]->AnyTouched(*touched_[s])) return true;
  }
  return false;
}

bool TableFeed::lost() const {
  for (size_t s = 0; s < sub_shards_.size(); ++s) {
    if (sub_shards_[s]->LostTouched(*touched_[s])) return true;
  }
  return false;
}

}  // namespace persia
