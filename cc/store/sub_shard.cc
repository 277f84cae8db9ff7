#include "cc/store/sub_shard.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "cc/base/hash.h"
#include "cc/base/prefetch.h"
#include "cc/store/finite.h"

namespace persia {
namespace {

// Rows that are asked for from memory before the first of them is used.
constexpr size_t kSlice = 24;

// What a core asks for from memory at once; the rest of a long row it sees
// coming by itself.
constexpr size_t kMostPrefetchBytes = 256;

constexpr size_t kCacheLine = 64;

template <For kUse>
void PrefetchStart(const std::byte* memory, size_t bytes) {
  const size_t end = std::min(bytes, kMostPrefetchBytes);
  for (size_t at = 0; at < end; at += kCacheLine) Prefetch<kUse>(memory + at);
  if (end % kCacheLine != 0) Prefetch<kUse>(memory + end - 1);
}

// Calls ask(i) for the first slice of `count`.
template <typename Ask>
void AskFirst(size_t count, const Ask& ask) {
  for (size_t i = 0; i < std::min(kSlice, count); ++i) ask(i);
}

// After AskFirst: calls ask(i) for the others, and use(begin, end) for all in
// slices, each slice some time after it was asked for.
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

// A group's rows. Kept by each thread, so that steady work allocates nothing.
RowIndex::Row* ThreadRows(size_t count) {
  thread_local std::vector<RowIndex::Row> rows;
  if (rows.size() < count) rows.resize(count);
  return rows.data();
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

void SubShard::StartLookup(IdGroup group, bool read_only, uint32_t now,
                           std::byte** rows, LookupCounts* counts) {
  const size_t count = group.ids.size();
  RowIndex::Row* numbers = ThreadRows(count);
  index_.Find(group.ids, numbers);
  if (!read_only) {
    if (rules_.eviction.expires()) {
      EraseExpired(group.ids, now, numbers, counts);
    }
    CreateAbsent(group.ids, now, numbers, counts);
  }
  PointTo(numbers, count, rows);
  AskFirst(count, [&](size_t i) { AskToRead(rows[i]); });
}

void SubShard::FinishLookup(IdGroup group, bool read_only, uint32_t now,
                            std::byte** rows, float* out,
                            LookupCounts* counts) const {
  const size_t dim = rules_.dim;
  const auto use = [&](size_t begin, size_t end) {
    if (rules_.eviction.evicts()) {
      NoteUse(rows + begin, end - begin, read_only, now);
    }
    rules_.format->Read(rows + begin, group.places.data() + begin, end - begin,
                        dim, out);
    for (size_t i = begin; i < end; ++i) {
      if (rows[i] != nullptr) continue;
      ++counts->absent;
      FillAbsent(group.ids[i], read_only, out + group.places[i] * dim);
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

// Takes no memory for rows: so a row that is there twice is still seen to be
// expired the second time, when it is free.
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
      counts->expired += Erase(ids[i]);
      rows[i] = RowIndex::kAbsent;
    }
  });
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
  // An id that is there twice was created a moment ago.
  const RowIndex::Row found = index_.Find(id);
  if (found != RowIndex::kAbsent) return found;
  if (!admission_->Admit(id)) {
    ++counts->refused;
    return RowIndex::kAbsent;
  }
  const RowIndex::Row row = Create(id, now);
  ++counts->created;
  return row;
}

RowIndex::Row SubShard::Create(int64_t id, uint32_t now) {
  const RowIndex::Row row = slab_.Allocate();
  std::byte* memory = slab_.at(row);
  WriteInitial(id, memory);
  rules_.optimizer->InitState(state(memory), rules_.dim);
  if (rules_.eviction.evicts()) *use(memory) = {now, 0};
  Insert(id, row);
  return row;
}

// Frees the row if there is no memory to find it by.
void SubShard::Insert(int64_t id, RowIndex::Row row) {
  try {
    index_.Insert(id, row);
  } catch (...) {
    slab_.Free(row);
    throw;
  }
  if (kept_) kept_->KeepAbsent(id);
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
  KeepRow(id, slab_.at(row));
  slab_.Free(row);
  return true;
}

// Notes a training lookup's rows as used; for one that only reads, sets the
// pointers to rows whose time is over to null.
void SubShard::NoteUse(std::byte** rows, size_t count, bool read_only,
                       uint32_t now) const {
  for (size_t i = 0; i < count; ++i) {
    if (rows[i] == nullptr) continue;
    if (!read_only) {
      use(rows[i])->Note(now);
    } else if (rules_.eviction.Expired(*use(rows[i]), now)) {
      rows[i] = nullptr;
    }
  }
}

void SubShard::FillAbsent(int64_t id, bool read_only, float* out) const {
  if (read_only) {
    std::fill_n(out, rules_.dim, rules_.default_value);
  } else {
    rules_.initializer->Fill(rules_.table_seed, id, out, rules_.dim);
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
}

void SubShard::FinishUpdate(IdGroup group, std::byte** rows,
                            const float* gradients, float learning_rate,
                            UpdateCounts* counts) {
  const auto ask = [&](size_t i) {
    AskToStep(rows[i], gradients + group.places[i] * rules_.dim);
  };
  const auto use = [&](size_t begin, size_t end) {
    if (kept_) {
      for (size_t i = begin; i < end; ++i) KeepRow(group.ids[i], rows[i]);
    }
    UpdateSlice(rows + begin, group.places.data() + begin, end - begin,
                gradients, learning_rate, counts);
  };
  InSlices(group.ids.size(), ask, use);
}

// `count` is kSlice at most.
void SubShard::UpdateSlice(std::byte* const* rows, const uint32_t* places,
                           size_t count, const float* gradients,
                           float learning_rate, UpdateCounts* counts) {
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
    UpdateInPlace(kept_rows, kept_gradients, kept, learning_rate);
    return;
  }
  for (size_t i = 0; i < kept; ++i) {
    UpdateEncoded(kept_rows[i], kept_gradients[i], learning_rate);
  }
}

void SubShard::UpdateInPlace(std::byte* const* rows,
                             const float* const* gradients, size_t count,
                             float learning_rate) {
  float* weights[kSlice];
  float* states[kSlice];
  for (size_t i = 0; i < count; ++i) {
    weights[i] = reinterpret_cast<float*>(rows[i]);
    states[i] = state(rows[i]);
  }
  rules_.optimizer->Update(
      {weights, states, gradients, count, rules_.dim, learning_rate});
}

void SubShard::UpdateEncoded(std::byte* row, const float* gradient,
                             float learning_rate) {
  float* weights = ThreadWeights(rules_.dim);
  float* states = state(row);
  constexpr uint32_t kPlace = 0;
  rules_.format->Read(&row, &kPlace, 1, rules_.dim, weights);
  rules_.optimizer->Update(
      {&weights, &states, &gradient, 1, rules_.dim, learning_rate});
  const uint64_t random = Mix64(rounding_seed_ + ++encoded_updates_);
  rules_.format->WriteRandomly(weights, rules_.dim, random, row);
}

void SubShard::Assign(IdGroup group, const float* weights, const float* states,
                      uint32_t now, LookupCounts* counts) {
  std::lock_guard<SpinMutex> lock(mutex_);
  for (size_t i = 0; i < group.ids.size(); ++i) {
    RowIndex::Row row = index_.Find(group.ids[i]);
    if (row == RowIndex::kAbsent) {
      row = Create(group.ids[i], now);
      ++counts->created;
    }
    std::byte* memory = slab_.at(row);
    KeepRow(group.ids[i], memory);
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

uint64_t SubShard::Remove(Span<const int64_t> ids) {
  uint64_t removed = 0;
  std::lock_guard<SpinMutex> lock(mutex_);
  for (const int64_t id : ids) removed += Erase(id);
  return removed;
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
  });
}

void SubShard::Freeze() {
  std::lock_guard<SpinMutex> lock(mutex_);
  kept_.emplace(rules_.row_bytes);
}

Result<bool> SubShard::ReadFrozen(size_t least, RawRows* rows) {
  std::lock_guard<SpinMutex> lock(mutex_);
  if (kept_->failed()) {
    return Status(Code::kResourceExhausted,
                  "no memory was left to keep rows as they were while they "
                  "were read; they were not all read");
  }
  if (kept_->ended()) return false;
  const auto append = [&](int64_t id, const std::byte* row) {
    AppendRow(id, row, rows);
  };
  const uint64_t next =
      index_.Walk(kept_->next(), least, [&](int64_t id, RowIndex::Row row) {
        if (!kept_->Has(id)) append(id, slab_.at(row));
      });
  kept_->ReadTo(next, append);
  return !kept_->ended();
}

void SubShard::Thaw() {
  std::optional<KeptRows> ended;  // Outside the lock: it may be large.
  std::lock_guard<SpinMutex> lock(mutex_);
  ended.swap(kept_);
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
    KeepRow(id, slab_.at(row));
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

uint64_t SubShard::Evict(Span<const EvictionCandidate> candidates,
                         uint32_t now) {
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
  }
  return evicted;
}

uint64_t SubShard::Sweep(uint64_t from, size_t least, uint32_t now,
                         size_t* seen, uint64_t* expired) {
  std::lock_guard<SpinMutex> lock(mutex_);
  return WalkUses(from, least, [&](int64_t id, RowUse use) {
    ++*seen;
    if (rules_.eviction.Expired(use, now)) *expired += Erase(id);
  });
}

bool SubShard::Expired(const std::byte* row, uint32_t now) const {
  if (!rules_.eviction.expires()) return false;
  RowUse used;
  std::memcpy(&used, row + rules_.use_offset, sizeof(used));
  return rules_.eviction.Expired(used, now);
}

void SubShard::AddStats(TableStats* stats) const {
  std::lock_guard<SpinMutex> lock(mutex_);
  stats->rows += index_.size();
  stats->index_slots += index_.slots();
  stats->bytes += slab_.bytes() + index_.bytes() + admission_->bytes();
}

}  // namespace persia
