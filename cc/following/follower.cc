#include "cc/following/follower.h"

#include <algorithm>
#include <utility>

#include "cc/base/hash.h"
#include "cc/base/keep_only.h"
#include "cc/base/random_bytes.h"
#include "cc/base/slots.h"

namespace persia {
namespace {

// The estimated size of a table's settings, without its rows, in a reply.
constexpr uint64_t kTableBytes = 1024;

}  // namespace

struct Follower::Room {
  uint64_t rows;
  uint64_t bytes;

  // Returns how many more rows of `row_bytes` bytes each fit into the reply.
  uint64_t For(uint64_t row_bytes) const {
    return bytes <= kTableBytes
               ? 0
               : std::min(rows, (bytes - kTableBytes) / row_bytes);
  }
  void Use(uint64_t count, uint64_t row_bytes) {
    rows -= std::min(rows, count);
    bytes -= std::min(bytes, count * row_bytes + kTableBytes);
  }
};

Status Follower::Tell(ChangesRequest* request) {
  std::lock_guard<std::mutex> lock(mutex_);
  UseForm(*request);
  const OwnedSlots before = SlotsNow();
  PERSIA_RETURN_IF_ERROR(TellNext(request));
  const SlotSet owned = CommonSlots(before, SlotsNow());
  LeaveOutForeign(owned, request);
  // What is left out of this reply is told once the shard has the slots again,
  // even if their epochs are the same then, as a replica's may be.
  if (!form_.whole) held_ = Restricted(held_, owned);
  request->held = Restricted(before, owned);
  return Status();
}

Status Follower::TellNext(ChangesRequest* request) {
  const FollowPosition& from = request->position;
  const bool is_of_epoch = epoch_ != 0 && from.epoch == epoch_;
  if (is_of_epoch && from.version + 1 == version_) {
    TellAgain(request);
    return Status();
  }
  // Taking changes from the feeds removes them there, so if this call fails
  // after that, the changes are lost. epoch_ is therefore 0 until this call
  // succeeds: the next call begins a new epoch if it finds 0.
  uint64_t epoch = std::exchange(epoch_, 0);
  const bool is_now = from.base_save == FollowPosition::kNow;
  OwnedSlots slots = SlotsNow();
  // A follower that needs no earlier rows need not be told those of slots that
  // the shard has got, and the feeds of whole rows do not walk over them. But
  // both must know that they may have missed changes.
  SlotSet gained = SlotsIn(slots) & ~CommonSlots(held_, slots);
  if (form_.whole) gained &= AskedSlots();
  const bool misses = (is_now || form_.whole) && gained.any();
  if (is_of_epoch && from.version == version_ && !misses) {
    begins_ = Begins::kNothing;
    UseSlots(std::move(slots));
  } else {
    PERSIA_RETURN_IF_ERROR(Begin(from.base_save, &epoch));
  }
  Take(request);
  if (AnyLost()) {
    PERSIA_RETURN_IF_ERROR(Begin(is_now ? FollowPosition::kNow : 0, &epoch));
    Take(request);
  }
  if (AnyLost()) {
    return Status(
        Code::kResourceExhausted,
        "this shard ran out of memory to record changes for its followers: "
        "give it more memory, or follow it with fewer followers");
  }
  epoch_ = epoch;
  request->position.epoch = epoch_;
  request->position.version = ++version_;
  return Status();
}

// A follower that asks for another form begins anew.
void Follower::UseForm(const ChangesRequest& request) {
  if (form_.whole == request.whole_rows && asked_ == request.slots) return;
  epoch_ = 0;
  form_.whole = request.whole_rows;
  asked_ = request.slots;
}

OwnedSlots Follower::SlotsNow() const {
  return subject_.slots == nullptr ? SlotsOfNoCluster() : subject_.slots();
}

SlotSet Follower::AskedSlots() const {
  return asked_.none() ? SlotSet().set() : asked_;
}

std::shared_ptr<const SlotSet> Follower::SlotsOfFeeds(
    const SlotSet& owned) const {
  SlotSet slots = AskedSlots();
  if (!form_.whole) slots &= owned;
  return slots.all() ? nullptr : std::make_shared<const SlotSet>(slots);
}

// Notices slots that the shard has got or given away since the last delta.
void Follower::UseSlots(OwnedSlots now) {
  const SlotSet owned = SlotsIn(now);
  const SlotSet stays = CommonSlots(held_, now);
  if (stays == owned && SlotsIn(held_) == owned) return;
  held_ = std::move(now);
  if (form_.whole) return;
  const SlotSet gained = owned & ~stays;
  form_.slots = SlotsOfFeeds(owned);
  fresh_ = (fresh_ & stays) | gained;
  if (form_.slots != nullptr) fresh_ &= *form_.slots;
  for (const Followed& followed : tables_) {
    if (followed.feed != nullptr) followed.feed->UseSlots(form_.slots, gained);
  }
}

void Follower::LeaveOutForeign(const SlotSet& owned,
                               ChangesRequest* request) const {
  if (owned.all()) return;
  const auto is_foreign = [&](int64_t id) { return !owned[SlotOf(id)]; };
  for (TableChanges& told : request->tables) {
    // Rows of slots that were given away are removed, but not from the cluster.
    std::vector<int64_t>& erased = told.rows.erased;
    erased.erase(std::remove_if(erased.begin(), erased.end(), is_foreign),
                 erased.end());
    if (form_.whole) continue;
    std::vector<bool> stays;
    for (const int64_t id : told.rows.ids) stays.push_back(!is_foreign(id));
    KeepOnly(stays, 1, &told.rows.ids);
    KeepOnly(stays, told.config.dim, &told.rows.weights);
  }
}

// Repeats the last delta, because its reply was lost. The rows have their
// present values, even if they changed after the first reply; those later
// changes will be in a later delta, too.
void Follower::TellAgain(ChangesRequest* request) {
  request->begins = begins_;
  request->complete = false;
  request->only_changes = false;
  // Of slots that the shard has got since, the follower will be told later.
  const OwnedSlots slots = SlotsNow();
  request->fresh = told_fresh_;
  if (!form_.whole)
    request->fresh |= SlotsIn(slots) & ~CommonSlots(held_, slots);
  request->tables.clear();
  for (Followed& followed : tables_) {
    if (!followed.was_told) continue;
    // A table without a feed was dropped after the last delta, so none of its
    // rows are left.
    const bool has_rows = followed.feed != nullptr;
    const TableFate fate = has_rows || followed.told_fate != TableFate::kStays
                               ? followed.told_fate
                               : TableFate::kCleared;
    TableChanges* const told = Tell(followed, fate, request);
    if (has_rows) followed.feed->Read(followed.given, &told->rows);
  }
  request->position.version = version_;
}

void Follower::LetGo(TableKey table) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Followed& followed : tables_) {
    if (HashName(followed.config.name) != table) continue;
    followed.feed = nullptr;
    followed.fate = TableFate::kDropped;
  }
}

Status Follower::Begin(uint64_t base_save, uint64_t* epoch) {
  const auto made = RandomNonZero();
  if (!made.ok()) return made.status();
  *epoch = *made;
  version_ = 0;
  begins_ = Begins::kSinceSave;
  held_ = SlotsNow();
  const SlotSet owned = SlotsIn(held_);
  form_.slots = SlotsOfFeeds(owned);
  fresh_.reset();
  // A save may be committed while Follow runs, so base_save() is checked before
  // and after Follow.
  if (base_save == FollowPosition::kNow) {
    (void)Follow(FeedStart::kNow);
    return Status();
  }
  if (base_save != 0 && subject_.base_save() == base_save &&
      Follow(FeedStart::kLastSave) && subject_.base_save() == base_save) {
    return Status();
  }
  begins_ = Begins::kWhole;
  fresh_ = form_.slots == nullptr ? owned : owned & *form_.slots;
  (void)Follow(FeedStart::kAllRows);
  return Status();
}

// Starts a feed on every table. Returns false if a table does not know its
// changes since `start`.
bool Follower::Follow(FeedStart start) {
  tables_.clear();
  store_version_ = subject_.store->version();
  for (Table* table : subject_.store->All()) {
    auto feed = table->Follow(start, form_);
    if (!feed.ok()) return false;
    tables_.push_back({table, table->config(), std::move(*feed)});
  }
  // Also reports dropped tables, because the follower may have been
  // disconnected when they were dropped.
  for (const TableConfig& config : subject_.store->Dropped()) {
    tables_.push_back({nullptr, config, nullptr, TableFate::kDropped});
  }
  return true;
}

void Follower::FollowNewTables() {
  // The version is read before the tables, so that the next call notices a
  // table that is created during this one.
  const uint64_t version = subject_.store->version();
  if (version == store_version_) return;
  store_version_ = version;
  for (Table* table : subject_.store->All()) {
    const std::string& name = table->config().name;
    const auto known = std::find_if(
        tables_.begin(), tables_.end(),
        [&](const Followed& each) { return each.config.name == name; });
    if (known == tables_.end()) {
      tables_.push_back(
          {table, table->config(),
           std::move(*table->Follow(FeedStart::kAllRows, form_))});
    } else if (known->feed == nullptr) {
      known->table = table;
      known->config = table->config();
      known->feed = std::move(*table->Follow(FeedStart::kAllRows, form_));
      known->fate = TableFate::kCleared;
    }
  }
}

// Forgets the dropped tables that the last delta reported as dropped.
void Follower::ForgetDropped() {
  const auto is_told = [](const Followed& each) {
    return each.was_told && each.told_fate == TableFate::kDropped;
  };
  tables_.erase(std::remove_if(tables_.begin(), tables_.end(), is_told),
                tables_.end());
}

bool Follower::AnyLost() const {
  return std::any_of(tables_.begin(), tables_.end(), [](const Followed& each) {
    return each.feed != nullptr && each.feed->lost();
  });
}

void Follower::Take(ChangesRequest* request) {
  ForgetDropped();
  FollowNewTables();
  // base_save() is called before any changes are taken. If this delta is
  // complete, the follower then has all changes up to this save.
  const uint64_t base_save = subject_.base_save();
  request->begins = begins_;
  request->fresh = told_fresh_ = fresh_;
  request->tables.clear();
  // Only half of the byte limit is used, because the estimate of the reply's
  // size may be slightly too low.
  Room room{request->max_rows, request->max_bytes / 2};
  bool more = false;
  for (size_t i = 0; i < tables_.size(); ++i) {
    Followed& followed = tables_[(first_ + i) % tables_.size()];
    more |= TakeFrom(&followed, &room, request);
  }
  // Each delta starts with another table, so that no table starves the others.
  ++first_;
  request->complete = !more;
  request->only_changes =
      std::all_of(tables_.begin(), tables_.end(), [](const Followed& each) {
        return each.feed == nullptr || each.feed->only_changes();
      });
  if (request->complete) fresh_.reset();
  // A follower that needs no earlier rows has base_save kNow, which is never
  // replaced.
  if (request->complete &&
      request->position.base_save != FollowPosition::kNow) {
    request->position.base_save = base_save;
  }
}

TableChanges* Follower::Tell(const Followed& followed, TableFate fate,
                             ChangesRequest* request) const {
  TableChanges& told = request->tables.emplace_back();
  told.config = followed.config;
  told.fate = fate;
  if (form_.whole && followed.feed != nullptr) {
    told.row_bytes = static_cast<uint32_t>(followed.table->layout().row_bytes);
    told.time = followed.table->time();
    told.identity = followed.table->identity();
  }
  return &told;
}

// Appends the table's changes to the reply, as far as they fit. Returns whether
// the table has more changes to send.
bool Follower::TakeFrom(Followed* followed, Room* room,
                        ChangesRequest* request) {
  followed->was_told = false;
  followed->given.clear();
  const TableConfig& config = followed->config;
  if (followed->feed == nullptr) {
    if (room->For(1) == 0 && !request->tables.empty()) return true;
    room->Use(0, 0);
    followed->was_told = followed->is_known = true;
    followed->told_fate = TableFate::kDropped;
    Tell(*followed, TableFate::kDropped, request);
    return false;
  }
  const uint64_t row_bytes =
      sizeof(int64_t) + (form_.whole ? followed->table->layout().row_bytes
                                     : sizeof(float) * uint64_t{config.dim});
  uint64_t count = room->For(row_bytes);
  if (count == 0) {
    if (!request->tables.empty()) return true;
    count = 1;
  }
  RowDelta rows;
  const bool more = followed->feed->Take(count, &rows);
  const bool is_news =
      !followed->is_known || followed->fate != TableFate::kStays;
  if (rows.size() == 0 && !is_news) return more;
  room->Use(rows.size(), row_bytes);
  followed->was_told = followed->is_known = true;
  followed->told_fate = std::exchange(followed->fate, TableFate::kStays);
  followed->given = rows.ids;
  followed->given.insert(followed->given.end(), rows.erased.begin(),
                         rows.erased.end());
  Tell(*followed, followed->told_fate, request)->rows = std::move(rows);
  return more;
}

}  // namespace persia
