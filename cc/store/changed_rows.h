// ChangedRows: records which rows of a sub-shard changed since some moment, and
// which ids lost their rows.
//
// The record has one bit per row number. Its memory grows with the highest row
// number, even beyond the memory limit, since it is small compared to the rows.
// No function here fails: if memory runs out while a change is recorded, the
// whole record becomes `lost`.
//
// Not thread-safe: its sub-shard's lock guards it.

#ifndef PERSIA_CC_STORE_CHANGED_ROWS_H_
#define PERSIA_CC_STORE_CHANGED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "cc/base/memory_meter.h"
#include "cc/base/span.h"
#include "cc/store/row_index.h"
#include "cc/store/row_set.h"

namespace persia {

class ChangedRows {
 public:
  using Row = RowIndex::Row;

  // Counts the object's memory at `meter`, unless `meter` is null. `meter` must
  // outlive the object.
  explicit ChangedRows(MemoryMeter* meter = nullptr)
      : meter_(meter), rows_(meter) {}

  // Records that a row was set or is about to be set.
  void Mark(Row row) {
    Noting([&] { rows_.Add(row); });
  }

  // Records that the rows of an update's batch change. Skips kAbsent.
  void MarkAll(Span<const Row> rows) {
    Noting([&] { rows_.AddAll(rows); });
  }

  // Records that `id` got a new row.
  void MarkCreated(int64_t id, Row row) {
    Mark(row);
    if (erased_ != nullptr) (void)erased_->Erase(id);
  }

  // Records that `id` loses its row. Another id may then get the row's number.
  void MarkErased(int64_t id);

  // Adds the changes that `earlier` recorded in the period before this one.
  // `index` is the current index. An id that lost its row in the earlier
  // period, but has a row in `index`, is not recorded as erased.
  void Merge(const ChangedRows& earlier, const RowIndex& index);

  bool Has(Row row) const { return rows_.Has(row); }

  // Appends the ids that lost their rows and have not got new ones.
  void AppendErased(std::vector<int64_t>* ids) const;

  const RowSet& set() const { return rows_; }

  // About how many rows changed: some of them may have been removed since.
  size_t rows() const { return rows_.size(); }
  size_t bytes() const;

  // Whether memory ran out, so that changes are missing.
  bool lost() const { return lost_; }

 private:
  template <typename Note>
  void Noting(const Note& note) {
    try {
      note();
    } catch (const std::bad_alloc&) {
      lost_ = true;
    }
  }

  MemoryMeter* meter_;
  RowSet rows_;
  // An index used as a set of ids: its row numbers have no meaning.
  std::unique_ptr<RowIndex> erased_;
  bool lost_ = false;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_CHANGED_ROWS_H_
