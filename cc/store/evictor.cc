#include "cc/store/evictor.h"

#include <algorithm>
#include <tuple>

namespace persia {
namespace {

constexpr size_t kSample = 8;
constexpr size_t kLeastCandidates = 1024;
// The most rows that are evicted in one round, which bounds the memory of the
// candidates.
constexpr size_t kMostEvictedARound = 1 << 14;

// A sweep scans 8 rows per created row, so that in the long run at most an
// eighth of a table is expired and not yet removed. It also scans one row per
// kIdsASwept ids that were looked up, so that sweeping continues while no rows
// are created.
constexpr size_t kSweptACreated = 8;
constexpr size_t kIdsASwept = 16;
constexpr size_t kLeastSwept = 64;

}  // namespace

uint64_t Evictor::Run(size_t ids, uint64_t created, uint32_t now,
                      RowChanges* changes) {
  if (!eviction_.evicts()) return 0;
  std::unique_lock<std::mutex> lock(mutex_, std::defer_lock);
  if (excess() > 0) {
    lock.lock();
  } else if (!eviction_.expires() || !lock.try_lock()) {
    return 0;  // Nothing to do, or another thread is sweeping.
  }
  uint64_t removed = 0;
  if (eviction_.expires()) {
    removed += Sweep(kLeastSwept + kSweptACreated * created + ids / kIdsASwept,
                     now, changes);
  }
  return removed + EvictExcess(now, changes);
}

uint64_t Evictor::EvictExcess(uint32_t now, RowChanges* changes) {
  uint64_t evicted = 0;
  while (excess() > 0) {
    const size_t count = std::min<uint64_t>(excess(), kMostEvictedARound);
    FindCandidates(std::max(kSample * count, kLeastCandidates), now);
    const uint64_t round = EvictLowest(count, now, changes);
    if (round == 0) break;  // Other threads removed or used all candidates.
    evicted += round;
  }
  return evicted;
}

uint64_t Evictor::Sweep(size_t least, uint32_t now, RowChanges* changes) {
  LookupCounts counts;
  counts.changes = changes;
  size_t seen = 0;
  WalkAll([&](SubShard* sub_shard) {
    if (seen >= least) return false;
    hash_ = sub_shard->Sweep(hash_, std::min(least - seen, kMostRowsALock), now,
                             &seen, &counts);
    return true;
  });
  rows_.fetch_sub(static_cast<int64_t>(counts.expired),
                  std::memory_order_relaxed);
  return counts.expired;
}

// Finds `wanted` candidates for eviction, or all rows if the table has fewer.
// No row becomes a candidate twice.
void Evictor::FindCandidates(size_t wanted, uint32_t now) {
  candidates_.clear();
  if (rows_.load(std::memory_order_relaxed) <= static_cast<int64_t>(wanted)) {
    // A scan that starts inside a sub-shard would miss the sub-shard's first
    // rows.
    sub_shard_ = 0;
    hash_ = 0;
  }
  WalkAll([&](SubShard* sub_shard) {
    if (candidates_.size() >= wanted) return false;
    const size_t least = wanted - candidates_.size();
    hash_ = sub_shard->FindCandidates(hash_, std::min(least, kMostRowsALock),
                                      now, static_cast<uint32_t>(sub_shard_),
                                      &candidates_);
    return true;
  });
}

template <typename Look>
void Evictor::WalkAll(const Look& look) {
  for (size_t ended = 0; ended < sub_shards_.size();) {
    if (!look(sub_shards_[sub_shard_].get())) return;
    if (hash_ != 0) continue;
    sub_shard_ = (sub_shard_ + 1) % sub_shards_.size();
    ++ended;
  }
}

uint64_t Evictor::EvictLowest(size_t count, uint32_t now, RowChanges* changes) {
  count = std::min(count, candidates_.size());
  const auto end = candidates_.begin() + static_cast<ptrdiff_t>(count);
  std::nth_element(candidates_.begin(), end, candidates_.end(),
                   [](const auto& a, const auto& b) {
                     return std::tie(a.rank, a.id) < std::tie(b.rank, b.id);
                   });
  std::sort(candidates_.begin(), end, [](const auto& a, const auto& b) {
    return a.sub_shard < b.sub_shard;
  });
  uint64_t evicted = 0;
  for (auto group = candidates_.begin(); group != end;) {
    const uint32_t sub_shard = group->sub_shard;
    const auto group_end = std::find_if(
        group, end, [&](const auto& c) { return c.sub_shard != sub_shard; });
    evicted += sub_shards_[sub_shard]->Evict(
        {&*group, static_cast<size_t>(group_end - group)}, now, changes);
    group = group_end;
  }
  rows_.fetch_sub(static_cast<int64_t>(evicted), std::memory_order_relaxed);
  return evicted;
}

uint64_t Evictor::excess() const {
  const int64_t rows = rows_.load(std::memory_order_relaxed);
  const uint64_t capacity = capacity_rows_.load(std::memory_order_relaxed);
  if (rows <= 0 || static_cast<uint64_t>(rows) <= capacity) return 0;
  return static_cast<uint64_t>(rows) - capacity;
}

}  // namespace persia
