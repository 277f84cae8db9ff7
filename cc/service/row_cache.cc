#include "cc/service/row_cache.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "cc/base/scratch.h"
#include "cc/store/id_groups.h"

namespace persia {
namespace {

// A cache with a smaller capacity has only one part, because many parts would
// be too small for the ids to fill them evenly.
constexpr uint64_t kLeastRowsOfParts = kSubShards * 64;

// The size of Part::changes. If two ids share a slot, a change of one id may
// prevent the caching of the other, but only if the other is being fetched at
// that moment.
constexpr size_t kChangeSlots = 256;

size_t ChangeSlot(const RowIndex& index, int64_t id) {
  return index.HashOf(id) / (~uint64_t{0} / kChangeSlots + 1);
}

const IdGroups& GroupsOf(Span<const int64_t> ids) {
  thread_local IdGroups groups;
  groups.Build(ids);
  return groups;
}

}  // namespace

RowCache::RowCache(uint32_t dim, uint64_t capacity)
    : dim_(dim),
      capacity_(capacity),
      parts_(capacity < kLeastRowsOfParts ? 1 : kSubShards) {
  for (size_t p = 0; p < parts_.size(); ++p) {
    const double share = parts_.size() == 1 ? 1 : ShareOf(p);
    parts_[p].capacity =
        static_cast<uint64_t>(static_cast<double>(capacity) * share);
  }
}

void RowCache::Find(Span<const int64_t> ids, uint64_t since, Span<float> rows,
                    std::vector<uint32_t>* missing) {
  const size_t missing_before = missing->size();
  const uint64_t oldest = std::max(since, oldest_.load());
  const IdGroups& groups = GroupsOf(ids);
  thread_local Scratch<RowIndex::Row> scratch;
  for (size_t s = 0; s < kSubShards; ++s) {
    const Span<const int64_t> group = groups.ids(s);
    if (group.empty()) continue;
    RowIndex::Row* const found = scratch.Get(group.size());
    Part& part = PartOf(s);
    std::lock_guard<SpinMutex> lock(part.mutex);
    part.index.Find(group, found);
    for (size_t i = 0; i < group.size(); ++i) {
      const uint32_t place = groups.places(s)[i];
      if (found[i] == RowIndex::kAbsent || part.rows[found[i]].epoch < oldest) {
        missing->push_back(place);
        continue;
      }
      part.rows[found[i]].used = true;
      std::copy_n(part.weights.data() + size_t{found[i]} * dim_, dim_,
                  rows.data() + size_t{place} * dim_);
    }
  }
  const size_t misses = missing->size() - missing_before;
  misses_.fetch_add(misses, std::memory_order_relaxed);
  hits_.fetch_add(ids.size() - misses, std::memory_order_relaxed);
}

void RowCache::Insert(Span<const int64_t> ids, Span<const float> rows,
                      uint64_t epoch) {
  if (epoch < oldest_.load()) return;
  const IdGroups& groups = GroupsOf(ids);
  for (size_t s = 0; s < kSubShards; ++s) {
    const Span<const int64_t> group = groups.ids(s);
    if (group.empty()) continue;
    Part& part = PartOf(s);
    std::lock_guard<SpinMutex> lock(part.mutex);
    for (size_t i = 0; i < group.size(); ++i) {
      if (HasChanged(part, group[i], epoch)) continue;
      const size_t place = groups.places(s)[i];
      Keep(&part, group[i], rows.data() + place * dim_, epoch);
    }
  }
}

void RowCache::Refresh(Span<const int64_t> ids, Span<const float> rows,
                       uint64_t epoch) {
  Change(ids, epoch, [&](Part* part, uint32_t row, size_t place) {
    if (part->rows[row].epoch > epoch) return;
    part->rows[row].epoch = epoch;
    std::copy_n(rows.data() + place * dim_, dim_,
                part->weights.data() + size_t{row} * dim_);
  });
}

void RowCache::Erase(Span<const int64_t> ids, uint64_t epoch) {
  Change(ids, epoch, [&](Part* part, uint32_t row, size_t /*place*/) {
    if (part->rows[row].epoch <= epoch) part->rows[row].epoch = 0;
  });
}

template <typename Set>
void RowCache::Change(Span<const int64_t> ids, uint64_t epoch, const Set& set) {
  const IdGroups& groups = GroupsOf(ids);
  for (size_t s = 0; s < kSubShards; ++s) {
    const Span<const int64_t> group = groups.ids(s);
    if (group.empty()) continue;
    Part& part = PartOf(s);
    std::lock_guard<SpinMutex> lock(part.mutex);
    part.changes.resize(kChangeSlots);
    for (size_t i = 0; i < group.size(); ++i) {
      uint64_t& change = part.changes[ChangeSlot(part.index, group[i])];
      change = std::max(change, epoch);
      const uint32_t row = part.index.Find(group[i]);
      if (row != RowIndex::kAbsent) set(&part, row, groups.places(s)[i]);
    }
  }
}

bool RowCache::HasChanged(const Part& part, int64_t id, uint64_t since) {
  return !part.changes.empty() &&
         part.changes[ChangeSlot(part.index, id)] >= since;
}

void RowCache::Keep(Part* part, int64_t id, const float* weights,
                    uint64_t epoch) const {
  uint32_t row = part->index.Find(id);
  if (row == RowIndex::kAbsent) {
    row = part->rows.size() < part->capacity ? Append(part) : Evict(part);
    // A new row is not marked as used, so that ids that are looked up only once
    // are evicted first.
    part->rows[row] = {id, epoch, false};
    part->index.Insert(id, row);
  } else if (part->rows[row].epoch > epoch) {
    return;
  } else {
    part->rows[row] = {id, epoch, true};
  }
  std::copy_n(weights, dim_, part->weights.data() + size_t{row} * dim_);
}

uint32_t RowCache::Append(Part* part) const {
  part->weights.resize((part->rows.size() + 1) * dim_);
  part->rows.emplace_back();
  return static_cast<uint32_t>(part->rows.size() - 1);
}

// Evicts a row and returns its index.
uint32_t RowCache::Evict(Part* part) {
  uint32_t row = 0;
  do {
    row = part->hand;
    part->hand = (part->hand + 1) % static_cast<uint32_t>(part->rows.size());
  } while (std::exchange(part->rows[row].used, false));
  part->index.Erase(part->rows[row].id);
  ++part->evictions;
  return row;
}

void RowCache::Invalidate(uint64_t epoch) {
  uint64_t oldest = oldest_.load();
  while (oldest < epoch && !oldest_.compare_exchange_weak(oldest, epoch)) {
  }
}

RowCacheStats RowCache::stats() const {
  RowCacheStats stats;
  stats.hits = hits_.load(std::memory_order_relaxed);
  stats.misses = misses_.load(std::memory_order_relaxed);
  for (const Part& part : parts_) {
    std::lock_guard<SpinMutex> lock(part.mutex);
    stats.rows += part.rows.size();
    stats.bytes += part.rows.capacity() * sizeof(Row) +
                   part.weights.capacity() * sizeof(float) + part.index.bytes();
    stats.evictions += part.evictions;
  }
  return stats;
}

}  // namespace persia
