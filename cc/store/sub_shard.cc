#include "cc/store/sub_shard.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <tuple>
#include <vector>

#include "cc/base/hash.h"
#include "cc/store/slices.h"

namespace persia {
namespace {

// At the memory limit, a sub-shard evicts at least 1 / kShareForRoom of its
// rows, so that it seldom evicts, and at least kLeastForRoom rows. Then it
// retries the work that reached the limit. kMostRounds rounds are enough unless
// hardly any rows are left.
constexpr size_t kShareForRoom = 64;
constexpr size_t kLeastForRoom = 64;
constexpr int kMostRounds = 4;

void Note(RowChanges* changes, RowChange change) {
  if (changes != nullptr) changes->push_back(change);
}

}  // namespace

void SubShard::PrefetchSelf() const {
  PrefetchStart<For::kWrite>(reinterpret_cast<const std::byte*>(this),
                             sizeof(*this));
}

void SubShard::Lock() {
  mutex_.lock();
  index_.PrefetchSegments();
  slab_.PrefetchChunks();
}

void SubShard::PrefetchIndex(Span<const int64_t> ids) const {
  index_.PrefetchBuckets(ids);
}

void SubShard::StartLookup(IdGroup group, LookupKind kind, uint32_t now,
                           std::byte** rows, LookupCounts* counts) {
  const size_t count = group.ids.size();
  RowIndex::Row* numbers = ThreadRows(count);
  MakingRoom(count, now, counts, [&] {
    index_.Find(group.ids, numbers);
    if (kind != LookupKind::kTrains) return;
    if (rules_.eviction.expires()) {
      EraseExpired(group.ids, now, numbers, counts);
    }
    CreateAbsent(group.ids, now, numbers, counts);
  });
  for (size_t i = 0; i < count; ++i) rows[i] = PointTo(numbers[i]);
  PrefetchFirst(count, [rows, this](size_t i) { PrefetchToRead(rows[i]); });
}

void SubShard::FinishLookup(IdGroup group, LookupKind kind, AbsentRows absent,
                            uint32_t now, std::byte** rows, float* out,
                            LookupCounts* counts) const {
  const size_t count = group.ids.size();
  const size_t dim = rules_.dim;
  if (rules_.eviction.evicts()) NoteUse(rows, count, kind, now, counts);
  rules_.format->Read(rows, group.places.data(), count, dim, out);
  size_t left = static_cast<size_t>(std::count(rows, rows + count, nullptr));
  counts->absent += left;
  for (size_t i = 0; left != 0; ++i) {
    if (rows[i] != nullptr) continue;
    FillAbsent(group.ids[i], kind, absent, out + group.places[i] * dim);
    --left;
  }
}

// Erases the expired rows of `ids`. No row is allocated meanwhile. So if an id
// occurs twice, its row, which is freed at the first occurrence, still reads as
// expired at the second one.
void SubShard::EraseExpired(Span<const int64_t> ids, uint32_t now,
                            RowIndex::Row* rows, LookupCounts* counts) {
  const auto prefetch_one = [&](size_t i) {
    if (rows[i] != RowIndex::kAbsent) {
      Prefetch(use(slab_.at(rows[i])));
    }
  };
  PrefetchFirst(ids.size(), prefetch_one);
  InSlices(ids.size(), prefetch_one, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (rows[i] == RowIndex::kAbsent) continue;
      if (!rules_.eviction.Expired(*use(slab_.at(rows[i])), now)) continue;
      if (Erase(ids[i])) {
        ++counts->expired;
        Note(counts->changes, {ids[i], false});
      }
      rows[i] = RowIndex::kAbsent;
    }
  });
}

// Runs `work` for `ids` ids. If `work` fails at the memory limit, evicts rows
// of this sub-shard and runs `work` again, at most kMostRounds times in all.
// Each run of `work` must find its rows again, since they may have been
// evicted.
template <typename Work>
void SubShard::MakingRoom(size_t ids, uint32_t now, LookupCounts* counts,
                          const Work& work) {
  for (int round = 1;; ++round) {
    try {
      return work();
    } catch (const MemoryLimitReached&) {
      if (!rules_.eviction.evicts() || round == kMostRounds) throw;
      const size_t share = index_.size() / kShareForRoom;
      const size_t count = std::max({2 * ids, share, kLeastForRoom});
      if (EvictForRoom(count, now, counts) == 0) throw;
    }
  }
}

// Evicts the rows of the lowest ranks in a random sample, as the Evictor does.
size_t SubShard::EvictForRoom(size_t count, uint32_t now,
                              LookupCounts* counts) {
  std::vector<EvictionCandidate> candidates;
  const auto add = [&](int64_t id, RowUse use) {
    candidates.push_back({rules_.eviction.Rank(use, now), id, 0});
  };
  const size_t wanted = std::min(index_.size(), 8 * count);
  const uint64_t from = Mix64(rounding_seed_ ^ ++rooms_made_);
  WalkUses(from, wanted, add);
  if (candidates.size() < wanted) {
    candidates.clear();
    WalkUses(0, index_.size(), add);
  }
  count = std::min(count, candidates.size());
  std::nth_element(candidates.begin(),
                   candidates.begin() + static_cast<ptrdiff_t>(count),
                   candidates.end(), [](const auto& a, const auto& b) {
                     return std::tie(a.rank, a.id) < std::tie(b.rank, b.id);
                   });
  for (size_t i = 0; i < count; ++i) {
    counts->expired += Erase(candidates[i].id);
    Note(counts->changes, {candidates[i].id, false});
  }
  return count;
}

void SubShard::CreateAbsent(Span<const int64_t> ids, uint32_t now,
                            RowIndex::Row* rows, LookupCounts* counts) {
  auto left = std::count(rows, rows + ids.size(), RowIndex::kAbsent);
  for (size_t i = 0; left != 0; ++i) {
    if (rows[i] != RowIndex::kAbsent) continue;
    rows[i] = FindOrCreate(ids[i], now, counts);
    --left;
  }
}

RowIndex::Row SubShard::FindOrCreate(int64_t id, uint32_t now,
                                     LookupCounts* counts) {
  // If the id occurred earlier in the same lookup, it has a row now.
  const RowIndex::Row found = index_.Find(id);
  if (found != RowIndex::kAbsent) return found;
  if (!admission_->Admit(id)) {
    ++counts->refused;
    return RowIndex::kAbsent;
  }
  const RowIndex::Row row = CreateRow(id, now);
  ++counts->created;
  Note(counts->changes, {id, true});
  return row;
}

RowIndex::Row SubShard::CreateRow(int64_t id, uint32_t now) {
  const RowIndex::Row row = slab_.Allocate();
  std::byte* memory = slab_.at(row);
  WriteInitial(id, memory);
  rules_.optimizer->InitState(state(memory), rules_.dim);
  if (rules_.eviction.evicts()) *use(memory) = {now, 0};
  Insert(id, row);
  return row;
}

// Adds the row to the index, or frees the row if the index has no memory.
void SubShard::Insert(int64_t id, RowIndex::Row row) {
  try {
    index_.Insert(id, row);
  } catch (...) {
    slab_.Free(row);
    throw;
  }
  if (changes_) changes_->MarkCreated(id, row);
  for (const auto& follower : followers_) follower->Create(id, row);
  for (const auto& part : frozen_) {
    if (Has(*part, row)) part->kept.NoteNew(id, row);
  }
}

void SubShard::WriteInitial(int64_t id, std::byte* row) const {
  float* weights = rules_.format->in_place() ? reinterpret_cast<float*>(row)
                                             : ThreadWeights(rules_.dim);
  rules_.initializer->Fill(rules_.table_seed, id, weights, rules_.dim);
  if (!rules_.format->in_place()) {
    rules_.format->Write(weights, rules_.dim, row);
  }
}

// Returns a new row for the id, whose contents the caller sets.
RowIndex::Row SubShard::InsertUnset(int64_t id) {
  const RowIndex::Row row = slab_.Allocate();
  Insert(id, row);
  return row;
}

bool SubShard::Erase(int64_t id) {
  const RowIndex::Row row = index_.Erase(id);
  if (row == RowIndex::kAbsent) return false;
  if (changes_) changes_->MarkErased(id);
  for (const auto& follower : followers_) follower->Erase(id, row);
  Free(id, row);
  return true;
}

// Removes the row of a slot that the shard does not own. Followers need not be
// told of it, and lists of all the rows that a shard gives away would be long.
// An increment must know of it: the slot may come back without the row.
bool SubShard::EraseForeign(int64_t id) {
  const RowIndex::Row row = index_.Erase(id);
  if (row == RowIndex::kAbsent) return false;
  if (changes_) changes_->MarkErased(id);
  for (const auto& follower : followers_) (void)follower->Settle(row);
  Free(id, row);
  return true;
}

void SubShard::Free(int64_t id, RowIndex::Row row) {
  KeepRow(id, row);
  slab_.Free(row);
}

// Notes a use of each row, unless `kind` is kReads. Entries of expired rows
// become null; a training lookup has already erased these rows.
void SubShard::NoteUse(std::byte** rows, size_t count, LookupKind kind,
                       uint32_t now, LookupCounts* counts) const {
  for (size_t i = 0; i < count; ++i) {
    if (i + kAheadOfUse < count) PrefetchToRead(rows[i + kAheadOfUse]);
    if (rows[i] == nullptr) continue;
    if (kind != LookupKind::kTrains &&
        rules_.eviction.Expired(*use(rows[i]), now)) {
      rows[i] = nullptr;
      counts->met_expired = true;
    } else if (kind != LookupKind::kReads) {
      use(rows[i])->Note(now);
    }
  }
}

void SubShard::FillAbsent(int64_t id, LookupKind kind, AbsentRows absent,
                          float* out) const {
  if (kind == LookupKind::kPresent) return;
  if (kind == LookupKind::kTrains) absent = AbsentRows::kInitial;
  switch (absent) {
    case AbsentRows::kDefault:
      std::fill_n(out, rules_.dim, rules_.default_value);
      return;
    case AbsentRows::kInitial:
      rules_.initializer->Fill(rules_.table_seed, id, out, rules_.dim);
      return;
    case AbsentRows::kMarked:
      std::fill_n(out, rules_.dim, std::numeric_limits<float>::quiet_NaN());
      return;
  }
}

void SubShard::Assign(IdGroup group, const float* weights, const float* states,
                      uint32_t now, LookupCounts* counts) {
  std::lock_guard<SpinMutex> lock(mutex_);
  for (size_t i = 0; i < group.ids.size(); ++i) {
    RowIndex::Row row = index_.Find(group.ids[i]);
    if (row == RowIndex::kAbsent) {
      MakingRoom(group.ids.size() - i, now, counts,
                 [&] { row = CreateRow(group.ids[i], now); });
      ++counts->created;
    }
    NoteChange(group.ids[i], row);
    std::byte* memory = slab_.at(row);
    rules_.format->Write(weights + group.places[i] * rules_.dim, rules_.dim,
                         memory);
    if (states != nullptr) {
      std::copy_n(states + group.places[i] * rules_.state_size,
                  rules_.state_size, state(memory));
    } else {
      rules_.optimizer->InitState(state(memory), rules_.dim);
    }
    if (rules_.eviction.evicts()) use(memory)->Note(now);
  }
}

void SubShard::Create(Span<const int64_t> ids, uint32_t now,
                      LookupCounts* counts) {
  std::lock_guard<SpinMutex> lock(mutex_);
  for (const int64_t id : ids) {
    if (index_.Find(id) != RowIndex::kAbsent) continue;
    MakingRoom(ids.size(), now, counts, [&] { CreateRow(id, now); });
    ++counts->created;
    Note(counts->changes, {id, true});
  }
}

uint64_t SubShard::Remove(Span<const int64_t> ids) {
  uint64_t removed = 0;
  std::lock_guard<SpinMutex> lock(mutex_);
  for (const int64_t id : ids) removed += Erase(id);
  return removed;
}

uint64_t SubShard::RemoveSlots(uint64_t from, size_t least,
                               const SlotSet& slots, uint64_t* removed) {
  thread_local std::vector<int64_t> ids;
  ids.clear();
  std::lock_guard<SpinMutex> lock(mutex_);
  const uint64_t next =
      index_.Walk(from, least, [&](int64_t id, RowIndex::Row /*row*/) {
        if (slots[SlotOf(id)]) ids.push_back(id);
      });
  for (const int64_t id : ids) *removed += EraseForeign(id);
  return next;
}

void SubShard::NoteUses(Span<const int64_t> ids, uint32_t time) {
  std::lock_guard<SpinMutex> lock(mutex_);
  for (const int64_t id : ids) {
    const RowIndex::Row row = index_.Find(id);
    if (row == RowIndex::kAbsent || Expired(slab_.at(row), time)) continue;
    use(slab_.at(row))->Note(time);
  }
}

uint64_t SubShard::Export(uint64_t from, size_t max_rows, uint32_t now,
                          RowPage* page) const {
  std::lock_guard<SpinMutex> lock(mutex_);
  return index_.Walk(from, max_rows, [&](int64_t id, RowIndex::Row row) {
    const std::byte* memory = slab_.at(row);
    if (Expired(memory, now)) return;
    page->ids.push_back(id);
    const size_t at = page->weights.size();
    page->weights.resize(at + rules_.dim);
    constexpr uint32_t kPlace = 0;
    rules_.format->Read(&memory, &kPlace, 1, rules_.dim,
                        page->weights.data() + at);
    const auto* states =
        reinterpret_cast<const float*>(memory + rules_.state_offset);
    page->state.insert(page->state.end(), states, states + rules_.state_size);
    if (!rules_.eviction.evicts()) return;
    const RowUse& used = use(memory);
    page->uses.push_back({used.Age(now), used.count});
  });
}

void SubShard::Restore(IdGroup group, const std::byte* rows,
                       LookupCounts* counts) {
  std::lock_guard<SpinMutex> lock(mutex_);
  for (size_t i = 0; i < group.ids.size(); ++i) {
    const int64_t id = group.ids[i];
    RowIndex::Row row = index_.Find(id);
    if (row == RowIndex::kAbsent) {
      row = InsertUnset(id);
      ++counts->created;
    }
    NoteChange(id, row);
    std::memcpy(slab_.at(row), rows + group.places[i] * rules_.row_bytes,
                rules_.row_bytes);
  }
}

void SubShard::Place(IdGroup group, const std::byte* rows, uint32_t now,
                     LookupCounts* counts) {
  const size_t count = group.ids.size();
  RowIndex::Row* numbers = ThreadRows(count);
  std::lock_guard<SpinMutex> lock(mutex_);
  index_.Find(group.ids, numbers);
  for (size_t i = 0; i < count; ++i) {
    const int64_t id = group.ids[i];
    // An id may occur twice.
    if (numbers[i] == RowIndex::kAbsent) numbers[i] = index_.Find(id);
    if (numbers[i] == RowIndex::kAbsent) {
      const uint64_t evicted = counts->expired;
      MakingRoom(count - i, now, counts, [&] { numbers[i] = InsertUnset(id); });
      ++counts->created;
      Note(counts->changes, {id, true});
      if (counts->expired != evicted) {
        index_.Find(group.ids.subspan(i + 1), numbers + i + 1);
      }
    }
    NoteChange(id, numbers[i]);
    std::memcpy(slab_.at(numbers[i]), rows + group.places[i] * rules_.row_bytes,
                rules_.row_bytes);
  }
}

uint64_t SubShard::FindCandidates(
    uint64_t from, size_t least, uint32_t now, uint32_t sub_shard,
    std::vector<EvictionCandidate>* candidates) const {
  std::lock_guard<SpinMutex> lock(mutex_);
  return WalkUses(from, least, [&](int64_t id, RowUse use) {
    candidates->push_back({rules_.eviction.Rank(use, now), id, sub_shard});
  });
}

// `visit` has the signature void(int64_t id, RowUse use).
template <typename Visit>
uint64_t SubShard::WalkUses(uint64_t from, size_t least,
                            const Visit& visit) const {
  struct Seen {
    int64_t id;
    const RowUse* use;
  };
  thread_local std::vector<Seen> seen;
  seen.clear();
  const uint64_t next =
      index_.Walk(from, least, [&](int64_t id, RowIndex::Row row) {
        seen.push_back({id, use(slab_.at(row))});
        Prefetch(seen.back().use);
      });
  for (const Seen& row : seen) visit(row.id, *row.use);
  return next;
}

uint64_t SubShard::Evict(Span<const EvictionCandidate> candidates, uint32_t now,
                         RowChanges* changes) {
  thread_local std::vector<int64_t> ids;
  ids.clear();
  for (const EvictionCandidate& candidate : candidates) {
    ids.push_back(candidate.id);
  }
  RowIndex::Row* rows = ThreadRows(ids.size());
  uint64_t evicted = 0;
  std::lock_guard<SpinMutex> lock(mutex_);
  index_.Find(ids, rows);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (rows[i] == RowIndex::kAbsent) continue;
    const RowUse used = *use(slab_.at(rows[i]));
    if (rules_.eviction.Rank(used, now) > candidates[i].rank) continue;
    evicted += Erase(ids[i]);
    Note(changes, {ids[i], false});
  }
  return evicted;
}

uint64_t SubShard::Sweep(uint64_t from, size_t least, uint32_t now,
                         size_t* seen, LookupCounts* counts) {
  std::lock_guard<SpinMutex> lock(mutex_);
  return WalkUses(from, least, [&](int64_t id, RowUse use) {
    ++*seen;
    if (!rules_.eviction.Expired(use, now)) return;
    counts->expired += Erase(id);
    Note(counts->changes, {id, false});
  });
}

bool SubShard::Expired(const std::byte* row, uint32_t now) const {
  return rules_.eviction.expires() && rules_.eviction.Expired(use(row), now);
}

uint64_t SubShard::rounded() const {
  std::lock_guard<SpinMutex> lock(mutex_);
  return rounded_;
}

void SubShard::set_rounded(uint64_t count) {
  std::lock_guard<SpinMutex> lock(mutex_);
  rounded_ = count;
}

void SubShard::AddStats(TableStats* stats) const {
  std::lock_guard<SpinMutex> lock(mutex_);
  stats->rows += index_.size();
  stats->index_slots += index_.slots();
  stats->bytes +=
      own_bytes() + slab_.bytes() + index_.bytes() + admission_->bytes();
  if (changes_) stats->bytes += changes_->bytes();
  if (saved_) stats->bytes += saved_->bytes();
  for (const auto& follower : followers_) stats->bytes += follower->bytes();
}

}  // namespace persia
