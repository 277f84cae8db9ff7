#include "cc/store/sub_shard.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <mutex>
#include <tuple>
#include <vector>

#include "cc/base/hash.h"
#include "cc/base/prefetch.h"
#include "cc/base/scratch.h"
#include "cc/store/finite.h"

namespace persia {
namespace {

// How many rows are prefetched before the first of them is used.
constexpr size_t kSlice = 24;

// At the memory limit, a sub-shard evicts this share of its rows, so that it
// does so seldom, but at least kLeastForRoom. kMostRounds are enough unless
// hardly any rows are left.
constexpr size_t kShareForRoom = 64;
constexpr size_t kLeastForRoom = 64;
constexpr int kMostRounds = 4;

// How much of a row is prefetched; the CPU's own prefetcher loads the rest of a
// longer row.
constexpr size_t kMostPrefetchBytes = 256;

constexpr size_t kCacheLine = 64;

template <For kUse>
void PrefetchStart(const std::byte* memory, size_t bytes) {
  const size_t end = std::min(bytes, kMostPrefetchBytes);
  for (size_t at = 0; at < end; at += kCacheLine) Prefetch<kUse>(memory + at);
  if (end % kCacheLine != 0) Prefetch<kUse>(memory + end - 1);
}

// Calls ask(i), which prefetches, for the first slice of `count`.
template <typename Ask>
void AskFirst(size_t count, const Ask& ask) {
  for (size_t i = 0; i < std::min(kSlice, count); ++i) ask(i);
}

// After AskFirst: calls ask(i) for the other rows, and use(begin, end) for all
// rows in slices, each slice some time after its prefetch.
template <typename Ask, typename Use>
void InSlices(size_t count, const Ask& ask, const Use& use) {
  size_t asked = std::min(kSlice, count);
  for (size_t begin = 0; begin < count;) {
    const size_t end = asked;
    asked = std::min(asked + kSlice, count);
    for (size_t i = end; i < asked; ++i) ask(i);
    use(begin, end);
    begin = end;
  }
}

// Row numbers of a group. Reused by each thread, so that steady work allocates
// nothing.
RowIndex::Row* ThreadRows(size_t count) {
  thread_local Scratch<RowIndex::Row> rows;
  return rows.Get(count);
}

void Note(RowChanges* changes, RowChange change) {
  if (changes != nullptr) changes->push_back(change);
}

float* ThreadWeights(size_t dim) {
  thread_local std::vector<float> weights;
  if (weights.size() < dim) weights.resize(dim);
  return weights.data();
}

}  // namespace

void SubShard::Ask() const {
  PrefetchStart<For::kWrite>(reinterpret_cast<const std::byte*>(this),
                             sizeof(*this));
}

void SubShard::Lock() {
  mutex_.lock();
  index_.AskForSegments();
  slab_.AskForChunks();
}

void SubShard::AskForIndex(Span<const int64_t> ids) const {
  index_.AskFor(ids);
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
  PointTo(numbers, count, rows);
  AskFirst(count, [&](size_t i) { AskToRead(rows[i]); });
}

void SubShard::FinishLookup(IdGroup group, LookupKind kind, AbsentRows absent,
                            uint32_t now, std::byte** rows, float* out,
                            LookupCounts* counts) const {
  const size_t dim = rules_.dim;
  const auto use = [&](size_t begin, size_t end) {
    if (rules_.eviction.evicts()) {
      NoteUse(rows + begin, end - begin, kind, now, counts);
    }
    rules_.format->Read(rows + begin, group.places.data() + begin, end - begin,
                        dim, out);
    for (size_t i = begin; i < end; ++i) {
      if (rows[i] != nullptr) continue;
      ++counts->absent;
      FillAbsent(group.ids[i], kind, absent, out + group.places[i] * dim);
    }
  };
  InSlices(group.ids.size(), [&](size_t i) { AskToRead(rows[i]); }, use);
}

void SubShard::PointTo(const RowIndex::Row* numbers, size_t count,
                       std::byte** rows) const {
  for (size_t i = 0; i < count; ++i) {
    rows[i] = numbers[i] == RowIndex::kAbsent ? nullptr : slab_.at(numbers[i]);
  }
}

void SubShard::AskToRead(const std::byte* row) const {
  if (row == nullptr) return;
  PrefetchStart<For::kRead>(row, rules_.eviction.evicts()
                                     ? rules_.use_offset + sizeof(RowUse)
                                     : rules_.format->weight_bytes(rules_.dim));
}

void SubShard::AskToStep(const std::byte* row, const float* gradient) const {
  if (row != nullptr) PrefetchStart<For::kWrite>(row, rules_.row_bytes);
  Prefetch(gradient);
}

// Allocates no row. So if an id occurs twice, its row, which is freed at the
// first occurrence, still reads as expired at the second one.
void SubShard::EraseExpired(Span<const int64_t> ids, uint32_t now,
                            RowIndex::Row* rows, LookupCounts* counts) {
  const auto ask = [&](size_t i) {
    if (rows[i] != RowIndex::kAbsent) {
      Prefetch(use(slab_.at(rows[i])));
    }
  };
  AskFirst(ids.size(), ask);
  InSlices(ids.size(), ask, [&](size_t begin, size_t end) {
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

// Runs `work` for `ids` ids. Each time that it fails at the memory limit,
// evicts rows of this sub-shard and retries, up to kMostRounds in all. `work`
// must find rows again each time: they may have been evicted.
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
  for (size_t i = 0; i < ids.size(); ++i) {
    if (rows[i] == RowIndex::kAbsent)
      rows[i] = FindOrCreate(ids[i], now, counts);
  }
}

RowIndex::Row SubShard::FindOrCreate(int64_t id, uint32_t now,
                                     LookupCounts* counts) {
  // The id may have occurred earlier in `ids`, and then has a row now.
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

// Frees the row if the index has no memory for it.
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

bool SubShard::Erase(int64_t id) {
  const RowIndex::Row row = index_.Erase(id);
  if (row == RowIndex::kAbsent) return false;
  if (changes_) changes_->MarkErased(id);
  for (const auto& follower : followers_) follower->Erase(id, row);
  KeepRow(id, row);
  slab_.Free(row);
  return true;
}

// Skips expired rows. A training lookup has already erased them.
void SubShard::NoteUse(std::byte** rows, size_t count, LookupKind kind,
                       uint32_t now, LookupCounts* counts) const {
  for (size_t i = 0; i < count; ++i) {
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

void SubShard::StartUpdate(IdGroup group, const float* gradients,
                           std::byte** rows) {
  const size_t count = group.ids.size();
  RowIndex::Row* numbers = ThreadRows(count);
  index_.Find(group.ids, numbers);
  PointTo(numbers, count, rows);
  AskFirst(count, [&](size_t i) {
    AskToStep(rows[i], gradients + group.places[i] * rules_.dim);
  });
  NoteUpdates(group.ids, numbers);  // While the rows are being prefetched.
}

void SubShard::NoteUpdates(Span<const int64_t> ids, const RowIndex::Row* rows) {
  if (changes_) changes_->MarkAll({rows, ids.size()});
  for (const auto& follower : followers_) follower->TouchAll(ids, rows);
  for (const auto& part : frozen_) {
    part->kept.BeginUpdate();
    for (size_t i = 0; i < ids.size(); ++i) {
      if (rows[i] != RowIndex::kAbsent && Has(*part, rows[i])) {
        part->kept.Expect(static_cast<uint32_t>(i), ids[i], rows[i]);
      }
    }
  }
}

void SubShard::FinishUpdate(IdGroup group, std::byte** rows,
                            const float* gradients, OptimizerStep step,
                            UpdateCounts* counts) {
  const auto ask = [&](size_t i) {
    AskToStep(rows[i], gradients + group.places[i] * rules_.dim);
  };
  const auto use = [&](size_t begin, size_t end) {
    for (const auto& part : frozen_) {
      part->kept.AddExpected(group.ids, rows, end);
    }
    UpdateSlice(rows + begin, group.places.data() + begin, end - begin,
                gradients, step, counts);
  };
  InSlices(group.ids.size(), ask, use);
  for (const auto& part : frozen_) part->kept.EndUpdate();
}

// `count` is at most kSlice.
void SubShard::UpdateSlice(std::byte* const* rows, const uint32_t* places,
                           size_t count, const float* gradients,
                           OptimizerStep step, UpdateCounts* counts) {
  std::byte* kept_rows[kSlice];
  const float* kept_gradients[kSlice];
  size_t kept = 0;
  for (size_t i = 0; i < count; ++i) {
    const float* gradient = gradients + places[i] * rules_.dim;
    if (!AllFinite(gradient, rules_.dim)) {
      ++counts->nonfinite;
    } else if (rows[i] == nullptr) {
      ++counts->absent;
    } else {
      kept_rows[kept] = rows[i];
      kept_gradients[kept++] = gradient;
    }
  }
  counts->applied += kept;
  if (rules_.format->in_place()) {
    UpdateInPlace(kept_rows, kept_gradients, kept, step);
    return;
  }
  for (size_t i = 0; i < kept; ++i) {
    UpdateEncoded(kept_rows[i], kept_gradients[i], step);
  }
}

void SubShard::UpdateInPlace(std::byte* const* rows,
                             const float* const* gradients, size_t count,
                             OptimizerStep step) {
  float* weights[kSlice];
  float* states[kSlice];
  for (size_t i = 0; i < count; ++i) {
    weights[i] = reinterpret_cast<float*>(rows[i]);
    states[i] = state(rows[i]);
  }
  rules_.optimizer->Update(
      {weights, states, gradients, count, rules_.dim, step});
}

void SubShard::UpdateEncoded(std::byte* row, const float* gradient,
                             OptimizerStep step) {
  float* weights = ThreadWeights(rules_.dim);
  float* states = state(row);
  constexpr uint32_t kPlace = 0;
  rules_.format->Read(&row, &kPlace, 1, rules_.dim, weights);
  rules_.optimizer->Update({&weights, &states, &gradient, 1, rules_.dim, step});
  const uint64_t random = Mix64(rounding_seed_ + ++rounded_);
  rules_.format->WriteRandomly(weights, rules_.dim, random, row);
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

FrozenPart* SubShard::Freeze(SaveScope scope) {
  std::unique_ptr<FrozenPart> part(
      new FrozenPart{KeptRows(&index_, rules_.row_bytes, meter_), scope});
  std::lock_guard<SpinMutex> lock(mutex_);
  frozen_.push_back(std::move(part));
  return frozen_.back().get();
}

Result<bool> SubShard::ReadFrozen(size_t least, FrozenPart* part,
                                  RawRows* rows) {
  KeptRows* const kept = &part->kept;
  std::lock_guard<SpinMutex> lock(mutex_);
  if (kept->failed()) {
    return Status(Code::kResourceExhausted,
                  "no memory was left to keep rows as they were while they "
                  "were read; they were not all read");
  }
  const auto append = [&](int64_t id, const std::byte* row) {
    AppendRow(id, row, rows);
  };
  // Copies first, or they might accumulate as fast as they are read.
  const bool had_kept = kept->TakeSome(append);
  if (kept->ended()) return had_kept;
  // Rows are scattered in memory: all are prefetched before one is read.
  thread_local std::vector<std::pair<int64_t, RowIndex::Row>> found;
  found.clear();
  const uint64_t next =
      index_.Walk(kept->next(), least, [&](int64_t id, RowIndex::Row row) {
        if (!Has(*part, row) || kept->Has(row)) return;
        PrefetchStart<For::kRead>(slab_.at(row), rules_.row_bytes);
        found.emplace_back(id, row);
      });
  for (const auto& [id, row] : found) append(id, slab_.at(row));
  kept->ReadTo(next);
  return true;
}

void SubShard::Thaw(FrozenPart* part) {
  std::unique_ptr<FrozenPart> ended;  // Freed outside the lock: may be large.
  std::lock_guard<SpinMutex> lock(mutex_);
  const auto at =
      std::find_if(frozen_.begin(), frozen_.end(),
                   [&](const auto& each) { return each.get() == part; });
  ended = std::move(*at);
  frozen_.erase(at);
}

void SubShard::BeginSave() {
  std::optional<ChangedRows> ended;  // Freed outside the lock: may be large.
  std::lock_guard<SpinMutex> lock(mutex_);
  if (saved_) changes_->Merge(*saved_, index_);  // That save was not committed.
  ended.swap(saved_);
  saved_.swap(changes_);
  changes_.emplace(meter_);
}

void SubShard::CommitSave() {
  std::optional<ChangedRows> ended;
  std::lock_guard<SpinMutex> lock(mutex_);
  ended.swap(saved_);
}

bool SubShard::lost_changes() const {
  std::lock_guard<SpinMutex> lock(mutex_);
  return (changes_ && changes_->lost()) || (saved_ && saved_->lost());
}

void SubShard::ReadErased(std::vector<int64_t>* ids) const {
  std::lock_guard<SpinMutex> lock(mutex_);
  if (saved_) saved_->AppendErased(ids);
}

size_t SubShard::RowsToSave(SaveScope scope) const {
  std::lock_guard<SpinMutex> lock(mutex_);
  return scope == SaveScope::kWhole ? index_.size() : saved_->rows();
}

void SubShard::AppendRow(int64_t id, const std::byte* row,
                         RawRows* rows) const {
  rows->ids.push_back(id);
  rows->bytes.insert(rows->bytes.end(), row, row + rules_.row_bytes);
}

void SubShard::Restore(IdGroup group, const std::byte* rows,
                       LookupCounts* counts) {
  std::lock_guard<SpinMutex> lock(mutex_);
  for (size_t i = 0; i < group.ids.size(); ++i) {
    const int64_t id = group.ids[i];
    RowIndex::Row row = index_.Find(id);
    if (row == RowIndex::kAbsent) {
      row = slab_.Allocate();
      Insert(id, row);
      ++counts->created;
    }
    NoteChange(id, row);
    std::memcpy(slab_.at(row), rows + group.places[i] * rules_.row_bytes,
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

// visit: void(int64_t id, RowUse use)
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
