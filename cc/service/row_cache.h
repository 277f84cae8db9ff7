// RowCache: copies of some rows of one table, each with the epoch at which it
// was copied.
//
// A RowCache holds at most `capacity` rows. The CLOCK algorithm (Corbato, 1968)
// chooses which row a new row replaces: a row that Find has not returned since
// the hand of the clock last passed it.
//
// Thread-safe. Each part of the cache has its own lock, which a call holds
// while it processes those ids of its batch that belong to the part.

#ifndef PERSIA_CC_SERVICE_ROW_CACHE_H_
#define PERSIA_CC_SERVICE_ROW_CACHE_H_

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "cc/base/span.h"
#include "cc/store/row_index.h"
#include "cc/store/spin_mutex.h"

namespace persia {

struct RowCacheStats {
  uint64_t rows = 0;    // Cached now, including rows that are too old.
  uint64_t bytes = 0;   // Allocated for rows and index.
  uint64_t hits = 0;    // Ids found.
  uint64_t misses = 0;  // Ids not found, or too old.
  uint64_t evictions = 0;
};

class RowCache {
 public:
  // Precondition: capacity is at least 1.
  RowCache(uint32_t dim, uint64_t capacity);

  uint32_t dim() const { return dim_; }
  uint64_t capacity() const { return capacity_; }

  // Copies each cached row whose epoch is `since` or later to the place of its
  // id in `rows` (ids.size() x dim), and appends the indices of all other ids
  // to `missing`, in no particular order.
  void Find(Span<const int64_t> ids, uint64_t since, Span<float> rows,
            std::vector<uint32_t>* missing);

  // Caches rows (ids.size() x dim) as of `epoch`. Skips an id if its cached row
  // is newer, or if Refresh or Erase recorded a change of the id at `epoch` or
  // later. Throws std::bad_alloc if there is no memory; some rows may be cached
  // then.
  void Insert(Span<const int64_t> ids, Span<const float> rows, uint64_t epoch);

  // Records that the rows of `ids` have changed to `rows` (ids.size() x dim) at
  // `epoch`: replaces those rows that are cached. A later Insert of these ids
  // with this epoch or an earlier one is ignored. Throws std::bad_alloc if
  // there is no memory; some rows may be replaced then.
  void Refresh(Span<const int64_t> ids, Span<const float> rows, uint64_t epoch);

  // Like Refresh, for rows that changed to unknown values: until they are
  // inserted again, Find with a `since` of at least 1 reports them as missing.
  void Erase(Span<const int64_t> ids, uint64_t epoch);

  // From now on Find reports all rows with an epoch before `epoch` as missing,
  // even if they are inserted later.
  void Invalidate(uint64_t epoch);

  // Calls visit(id, weights), where `weights` points to dim() floats, for each
  // cached row that Find with a `since` of 1 returns. Holds the lock of a part
  // meanwhile, so `visit` must not use the cache.
  template <typename Visit>
  void ForEach(const Visit& visit) const;

  RowCacheStats stats() const;

 private:
  struct Row {
    int64_t id;
    uint64_t epoch;
    bool used;  // Whether Find returned the row since the hand passed it.
  };

  // The rows that one lock guards.
  struct Part {
    mutable SpinMutex mutex;
    uint64_t capacity = 0;
    RowIndex index;  // Maps ids to indices of `rows`.
    std::vector<Row> rows;
    std::vector<float> weights;  // rows.size() x dim.
    uint32_t hand = 0;
    uint64_t evictions = 0;
    // The epoch of the last Refresh or Erase of an id, indexed by a hash of the
    // id. Ids with the same index share the latest epoch. Empty until the first
    // change.
    std::vector<uint64_t> changes;
  };

  Part& PartOf(size_t sub_shard) { return parts_[sub_shard % parts_.size()]; }
  // Records that `ids` changed at `epoch`. Calls set(part, index of the row in
  // the part, index of the id in `ids`) for each cached row.
  template <typename Set>
  void Change(Span<const int64_t> ids, uint64_t epoch, const Set& set);
  static bool HasChanged(const Part& part, int64_t id, uint64_t since);
  void Keep(Part* part, int64_t id, const float* weights, uint64_t epoch) const;
  uint32_t Append(Part* part) const;
  static uint32_t Evict(Part* part);

  const uint32_t dim_;
  const uint64_t capacity_;
  std::vector<Part> parts_;  // One, or one per sub-shard.
  std::atomic<uint64_t> oldest_{0};
  std::atomic<uint64_t> hits_{0};
  std::atomic<uint64_t> misses_{0};
};

template <typename Visit>
void RowCache::ForEach(const Visit& visit) const {
  const uint64_t oldest = std::max(uint64_t{1}, oldest_.load());
  for (const Part& part : parts_) {
    std::lock_guard<SpinMutex> lock(part.mutex);
    for (size_t row = 0; row < part.rows.size(); ++row) {
      if (part.rows[row].epoch < oldest) continue;
      visit(part.rows[row].id, part.weights.data() + row * dim_);
    }
  }
}

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_ROW_CACHE_H_
