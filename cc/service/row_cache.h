// RowCache: copies of some rows of one table, each with the epoch of its copy.
//
// Holds at most `capacity` rows; the CLOCK algorithm (Corbato, 1968) chooses
// which one a new row replaces: one that was not found since the hand last
// passed it.
//
// Thread-safe. Calls block only on the locks of the parts that they touch, each
// held for one batch's share of ids.

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
  uint64_t rows = 0;    // Held now, those that are too old included.
  uint64_t bytes = 0;   // Rows and index, as allocated.
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

  // Copies the rows of those ids that are here with an epoch of `since` or
  // later to their places in rows (ids.size() x dim), and appends the places of
  // all others to `missing`, in no order.
  void Find(Span<const int64_t> ids, uint64_t since, Span<float> rows,
            std::vector<uint32_t>* missing);

  // Keeps rows (ids.size() x dim) as of `epoch`, where it has none as new, and
  // was told of no later change.
  // Throws std::bad_alloc if there is no memory; some may be kept then.
  void Insert(Span<const int64_t> ids, Span<const float> rows, uint64_t epoch);

  // The rows (ids.size() x dim) have changed: those that are here become these,
  // as of `epoch`, and of no id is an earlier row kept, however late it comes.
  // Throws std::bad_alloc if there is no memory; some may be changed then.
  void Refresh(Span<const int64_t> ids, Span<const float> rows, uint64_t epoch);

  // The same, where it is not known what the rows are now: they are not found
  // until they are inserted anew.
  void Erase(Span<const int64_t> ids, uint64_t epoch);

  // From now on nothing of before `epoch` is found, whenever it is inserted.
  void Invalidate(uint64_t epoch);

  RowCacheStats stats() const;

 private:
  struct Row {
    int64_t id;
    uint64_t epoch;
    bool used;  // Found since the hand last passed it.
  };

  // What one lock guards.
  struct Part {
    mutable SpinMutex mutex;
    uint64_t capacity = 0;
    RowIndex index;  // Of places in `rows`.
    std::vector<Row> rows;
    std::vector<float> weights;  // rows.size() x dim.
    uint32_t hand = 0;
    uint64_t evictions = 0;
    // By hash of the id, so that an id may take over another's: the epoch of
    // the last change. Empty until there is one.
    std::vector<uint64_t> changes;
  };

  Part& PartOf(size_t sub_shard) { return parts_[sub_shard % parts_.size()]; }
  // `set` takes a row's place in the part and its place among the ids.
  template <typename Set>
  void Change(Span<const int64_t> ids, uint64_t epoch, const Set& set);
  static bool HasChanged(const Part& part, int64_t id, uint64_t since);
  void Keep(Part* part, int64_t id, const float* weights, uint64_t epoch) const;
  uint32_t Append(Part* part) const;
  static uint32_t Evict(Part* part);

  const uint32_t dim_;
  const uint64_t capacity_;
  std::vector<Part> parts_;  // One, or one a sub-shard.
  std::atomic<uint64_t> oldest_{0};
  std::atomic<uint64_t> hits_{0};
  std::atomic<uint64_t> misses_{0};
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_ROW_CACHE_H_
