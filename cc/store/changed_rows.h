// ChangedRows: which rows of a sub-shard changed since some moment, and which
// ids lost their rows.
//
// One bit per row, by row number. The memory grows with the highest number,
// even beyond a memory limit, since it is small compared to the rows. Nothing
// here fails: if memory runs out while a change is recorded, the whole set
// becomes `lost`.
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

  // Counts its memory at `meter` unless that is null. `meter` must outlive
  // this.
  explicit ChangedRows(MemoryMeter* meter = nullptr)
      : meter_(meter), rows_(meter) {}

  // Call for a row that was set or is about to be.
  void Mark(Row row) {
    Noting([&] { rows_.Add(row); });
  }

  // Marks all rows of an update's batch, except kAbsent.
  void MarkAll(Span<const Row> rows) {
    Noting([&] { rows_.AddAll(rows); });
  }

  // Call for an id that got a new row.
  void MarkCreated(int64_t id, Row row) {
    Mark(row);
    if (erased_ != nullptr) (void)erased_->Erase(id);
  }

  // Call for an id that loses its row. The row's number may be given to another
  // id.
  void MarkErased(int64_t id);

  // Adds the changes of `earlier`, whose period ended where this one began. An
  // id that lost its row in that period may have a row again, in `index`, which
  // is the current one.
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
  std::unique_ptr<RowIndex> erased_;  // A set of ids; rows unused.
  bool lost_ = false;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_CHANGED_ROWS_H_
