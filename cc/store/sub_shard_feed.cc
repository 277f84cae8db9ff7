// The functions of SubShard that report changes to followers.

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

#include "cc/store/sub_shard.h"

namespace persia {

TouchedRows* SubShard::Follow(SaveScope scope) {
  auto touched = std::make_unique<TouchedRows>(&index_, meter_);
  std::lock_guard<SpinMutex> lock(mutex_);
  if (scope == SaveScope::kChanges) {
    if (!changes_ || changes_->lost() || (saved_ && saved_->lost())) {
      return nullptr;
    }
    touched->Add(*changes_);
    // The changes in saved_ belong to a save that is not committed and may
    // fail, so the last committed save does not have them.
    if (saved_) touched->Add(*saved_);
  }
  followers_.push_back(std::move(touched));
  return followers_.back().get();
}

void SubShard::Unfollow(TouchedRows* touched) {
  // `ended` is freed after the lock is released, since a TouchedRows may be
  // large.
  std::unique_ptr<TouchedRows> ended;
  std::lock_guard<SpinMutex> lock(mutex_);
  const auto at =
      std::find_if(followers_.begin(), followers_.end(),
                   [&](const auto& each) { return each.get() == touched; });
  ended = std::move(*at);
  followers_.erase(at);
}

uint64_t SubShard::TellWalked(SaveScope scope, const FeedForm& form,
                              const SlotSet* only, uint64_t from, size_t least,
                              uint32_t now, TouchedRows* touched,
                              RowDelta* delta) const {
  // Rows are scattered in memory: all are prefetched before one is read.
  thread_local std::vector<std::pair<int64_t, const std::byte*>> found;
  found.clear();
  std::lock_guard<SpinMutex> lock(mutex_);
  const uint64_t next =
      index_.Walk(from, least, [&](int64_t id, RowIndex::Row row) {
        if (!form.Has(id)) return touched->Ignore(row);
        if (only != nullptr && !(*only)[SlotOf(id)]) return;
        const bool was_touched = touched->Settle(row);
        if (scope == SaveScope::kChanges && !was_touched) return;
        found.emplace_back(id, slab_.at(row));
        PrefetchToRead(found.back().second);
      });
  for (const auto& [id, row] : found) TellRow(form, id, row, now, delta);
  return next;
}

bool SubShard::TellTouched(const FeedForm& form, size_t count, uint32_t now,
                           TouchedRows* touched, RowDelta* delta) const {
  thread_local std::vector<int64_t> ids;
  thread_local std::vector<RowIndex::Row> rows;
  ids.clear();
  const size_t erased = delta->erased.size();
  bool more = false;
  {
    std::lock_guard<SpinMutex> lock(mutex_);
    touched->Take(count, &ids);
    // The bits of other slots' rows stay set, so that they are not recorded
    // again.
    const auto is_other = [&](int64_t id) { return !form.Has(id); };
    ids.erase(std::remove_if(ids.begin(), ids.end(), is_other), ids.end());
    rows.resize(ids.size());
    index_.Find(ids, rows.data());
    for (const RowIndex::Row row : rows) {
      if (row != RowIndex::kAbsent) PrefetchToRead(slab_.at(row));
    }
    for (size_t i = 0; i < ids.size(); ++i) {
      if (rows[i] == RowIndex::kAbsent) {
        delta->erased.push_back(ids[i]);
      } else if (touched->Settle(rows[i])) {
        TellRow(form, ids[i], slab_.at(rows[i]), now, delta);
      }
    }
    more = touched->any();
  }
  // `erased` has an id once for each row that the id had: duplicates are
  // removed.
  const auto first = delta->erased.begin() + static_cast<ptrdiff_t>(erased);
  std::sort(first, delta->erased.end());
  delta->erased.erase(std::unique(first, delta->erased.end()),
                      delta->erased.end());
  return more;
}

void SubShard::Tell(const FeedForm& form, Span<const int64_t> ids, uint32_t now,
                    RowDelta* delta) const {
  std::lock_guard<SpinMutex> lock(mutex_);
  for (const int64_t id : ids) {
    const RowIndex::Row row = index_.Find(id);
    if (row == RowIndex::kAbsent) {
      delta->erased.push_back(id);
    } else {
      TellRow(form, id, slab_.at(row), now, delta);
    }
  }
}

bool SubShard::AnyTouched(const TouchedRows& touched) const {
  std::lock_guard<SpinMutex> lock(mutex_);
  return touched.any();
}

bool SubShard::LostTouched(const TouchedRows& touched) const {
  std::lock_guard<SpinMutex> lock(mutex_);
  return touched.lost();
}

// An expired row is reported as erased: lookups treat it as absent, and it
// never becomes visible again.
void SubShard::TellRow(const FeedForm& form, int64_t id, const std::byte* row,
                       uint32_t now, RowDelta* delta) const {
  if (Expired(row, now)) {
    delta->erased.push_back(id);
    return;
  }
  delta->ids.push_back(id);
  if (form.whole) {
    delta->bytes.insert(delta->bytes.end(), row, row + rules_.row_bytes);
    return;
  }
  const size_t at = delta->weights.size();
  delta->weights.resize(at + rules_.dim);
  constexpr uint32_t kPlace = 0;
  rules_.format->Read(&row, &kPlace, 1, rules_.dim, delta->weights.data() + at);
}

}  // namespace persia
