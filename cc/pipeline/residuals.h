// Residuals: what the int4 encoding of a program's gradients has lost and has
// not sent yet, by table and id.
//
// The residual of an id is added to its next gradient, so that what is sent
// follows the sum of the gradients: each number is never more than half a step
// of its vector's last encoding behind (cc/wire/int4.h).
//
// A table keeps the residuals of at most a given number of ids. Beyond that, a
// new id replaces one that has not recurred lately (see RowCache), whose
// residual is dropped and counted. So a dropped residual costs an id at most
// half a step, once.
//
// Thread-safe. A call holds a lock for as long as it computes.

#ifndef PERSIA_CC_PIPELINE_RESIDUALS_H_
#define PERSIA_CC_PIPELINE_RESIDUALS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "cc/base/span.h"
#include "cc/service/embedding_service.h"
#include "cc/service/row_cache.h"

namespace persia {

// The residuals of one table as they are saved.
struct TableResiduals {
  TableKey table = 0;
  uint32_t dim = 0;
  std::vector<int64_t> ids;
  std::vector<float> values;  // ids.size() x dim.
};

class Residuals {
 public:
  // Precondition: rows_per_table is at least 1.
  explicit Residuals(uint64_t rows_per_table)
      : rows_per_table_(rows_per_table) {}

  // One table's unique ids, their gradients, and the sums of gradients and
  // residuals: each ids.size() x dim.
  struct Gradients {
    TableKey table = 0;
    uint32_t dim = 0;
    Span<const int64_t> ids;
    Span<const float> gradients;
    Span<const float> sums;
  };

  // Sets `sums`, which has room for ids.size() x dim floats, to the gradients
  // plus the residuals of their ids, and stores what the encoding of the sums
  // will lose. A sum that is not finite leaves its residual as it is. If there
  // is no memory, drops the residuals of the table, and sets `sums` to the
  // gradients. Ignores `of.sums`. Returns the era: see TakeBack.
  uint64_t FeedBack(const Gradients& of, Span<float> sums);

  // Undoes FeedBack for sums that were not delivered, except for those at the
  // indices in `delivered`. `era` is what FeedBack returned: does nothing if
  // the residuals were cleared since, or if FeedBack had no memory.
  void TakeBack(const Gradients& of, Span<const uint32_t> delivered,
                uint64_t era);

  // Drops the residuals of these ids, because their rows were set or removed.
  void Forget(TableKey table, Span<const int64_t> ids);
  void ForgetTable(TableKey table);
  // Drops all residuals, because the rows are not those that they belong to.
  void Clear();

  // A copy of all residuals; and its inverse, which drops the present ones.
  // Throw std::bad_alloc if there is no memory.
  std::vector<TableResiduals> Save() const;
  void Restore(const std::vector<TableResiduals>& saved);

  uint64_t rows() const;     // Residuals that are kept now.
  uint64_t dropped() const;  // Residuals that had to make room for others.

 private:
  // The functions below require that mutex_ is held.
  RowCache* TableOf(TableKey table, uint32_t dim);
  void Drop(TableKey table);
  void DropAll();

  static constexpr uint64_t kNoEra = UINT64_MAX;

  const uint64_t rows_per_table_;
  mutable std::mutex mutex_;
  // The members below are guarded by mutex_.
  std::map<TableKey, std::unique_ptr<RowCache>> tables_;
  std::vector<float> residuals_;   // Scratch.
  std::vector<uint32_t> missing_;  // Scratch.
  uint64_t epoch_ = 0;             // Of the newest change: see RowCache.
  uint64_t era_ = 0;               // Rises with each Clear.
  uint64_t evictions_ = 0;         // Of tables that are gone.
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_RESIDUALS_H_
