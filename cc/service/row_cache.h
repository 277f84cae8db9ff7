// RowCache: copies of some rows of one table, each with the epoch at which it
// was copied.
//
// Holds at most `capacity` rows; the CLOCK algorithm (Corbato, 1968) chooses
// which row a new one replaces: one that Find has not hit since the hand last
// passed it.
//
// Thread-safe. Calls block only on the locks of the parts that they touch; each
// lock is held while one batch's ids of that part are processed.

#ifndef PERSIA_CC_SERVICE_ROW_CACHE_H_
#define PERSIA_CC_SERVICE_ROW_CACHE_H_

#include <atomic>
#include <cstdint>
#include <vector>

#include "cc/base/span.h"
#include "cc/store/row_index.h"
#include "cc/store/spin_mutex.h"

namespace persia {

struct RowCacheStats {
  uint64_t rows = 0;    // Held now, including those that are too old.
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

  // Copies the cached rows whose epoch is `since` or later to their places in
  // rows (ids.size() x dim), and appends the places of all other ids to
  // `missing`, in no particular order.
  void Find(Span<const int64_t> ids, uint64_t since, Span<float> rows,
            std::vector<uint32_t>* missing);

  // Caches rows (ids.size() x dim) as of `epoch`. Skips an id whose cached row
  // is newer, or that changed (Refresh, Erase) at `epoch` or later. Throws
  // std::bad_alloc if there is no memory; some rows may be cached then.
  void Insert(Span<const int64_t> ids, Span<const float> rows, uint64_t epoch);

  // The rows have changed to these (ids.size() x dim): replaces the cached
  // ones, as of `epoch`. A later Insert of these ids with an earlier epoch, or
  // this one, is ignored. Throws std::bad_alloc if there is no memory; some may
  // be changed then.
  void Refresh(Span<const int64_t> ids, Span<const float> rows, uint64_t epoch);

  // The same for rows that changed to unknown values: Find misses them, given a
  // `since` of at least 1, until they are inserted again.
  void Erase(Span<const int64_t> ids, uint64_t epoch);

  // From now on Find misses all rows from before `epoch`, also those that are
  // inserted later.
  void Invalidate(uint64_t epoch);

  RowCacheStats stats() const;

 private:
  struct Row {
    int64_t id;
    uint64_t epoch;
    bool used;  // Found since the hand last passed it.
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
    // The epoch of the last change, by a hash of the id: ids that collide share
    // the later epoch. Empty until the first change.
    std::vector<uint64_t> changes;
  };

  Part& PartOf(size_t sub_shard) { return parts_[sub_shard % parts_.size()]; }
  // Calls set(part, index of the row in the part, index of the id in `ids`) for
  // each cached row.
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

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_ROW_CACHE_H_
