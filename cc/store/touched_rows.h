// TouchedRows: the ids of a sub-shard whose changes a follower has not read
// yet.
//
// The ids are in a list, each at most once during the lifetime of its row. A
// bit per row number says that the row's id is in the list, or that a walk over
// all rows will visit the id. The bit is cleared when the row is removed, as
// another id may get the row's number. So the cost of reporting depends on the
// number of changes, not on the size of the index.
//
// No function here fails: if memory runs out while a change is recorded, or if
// the list grows much longer than the number of rows, as ids come and go, the
// whole record becomes `lost`.
//
// Not thread-safe: its sub-shard's lock guards it.

#ifndef PERSIA_CC_STORE_TOUCHED_ROWS_H_
#define PERSIA_CC_STORE_TOUCHED_ROWS_H_

#include <cstddef>
#include <cstdint>
#include <new>
#include <vector>

#include "cc/base/memory_meter.h"
#include "cc/base/span.h"
#include "cc/store/changed_rows.h"
#include "cc/store/row_index.h"
#include "cc/store/row_set.h"

namespace persia {

class TouchedRows {
 public:
  using Row = RowIndex::Row;

  // Records changes of the rows in `index`. Counts the object's memory at
  // `meter`, unless `meter` is null. `index` and `meter` must outlive the
  // object.
  explicit TouchedRows(const RowIndex* index, MemoryMeter* meter = nullptr)
      : index_(*index),
        rows_(meter),
        metered_(meter, MeteredBytes::AtLimit::kGrow) {}

  // Records that a row was set or is about to be set.
  void Touch(int64_t id, Row row) {
    if (!rows_.Has(row)) Create(id, row);
  }

  // Records that `id` got a new row. The row's bit may still be set for an
  // earlier row of the same number.
  void Create(int64_t id, Row row) {
    if (lost_) return;
    Noting([&] {
      rows_.Add(row);
      Push(id);
    });
  }

  // Records that `rows`, the rows of `ids`, change; skips absent ones.
  void TouchAll(Span<const int64_t> ids, const Row* rows) {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (rows[i] != RowIndex::kAbsent) Touch(ids[i], rows[i]);
    }
  }

  // Records that `id` loses its row.
  void Erase(int64_t id, Row row) {
    if (lost_) return;
    (void)rows_.Remove(row);
    Noting([&] { Push(id); });
  }

  // Adds earlier changes, some of which may be of rows that no longer exist.
  // Only the erased ids enter the list: a walk over all rows must report the
  // changed rows.
  void Add(const ChangedRows& changes);

  // Clears the row's bit, and returns whether it was set. Call it when the row
  // is reported, or removed without a report.
  bool Settle(Row row) { return rows_.Remove(row); }

  // Call it when a walk meets a row that the follower does not want: its later
  // changes are then not recorded.
  void Ignore(Row row) {
    Noting([&] { rows_.Add(row); });
  }

  // Moves up to `count` ids from the list to `ids`, ids from older lists first.
  // Some of these ids may have been reported already: the bits of their rows
  // are then not set.
  void Take(size_t count, std::vector<int64_t>* ids);

  bool any() const { return !ids_.empty() || !taking_.empty(); }
  bool lost() const { return lost_; }
  size_t bytes() const;

 private:
  template <typename Note>
  void Noting(const Note& note) {
    try {
      note();
    } catch (const std::bad_alloc&) {
      Lose();
    }
  }

  void Push(int64_t id) {
    if (ids_.size() == ids_.capacity()) MakeRoom();
    if (!lost_) ids_.push_back(id);
  }
  void MakeRoom();
  void Lose();

  const RowIndex& index_;
  RowSet rows_;
  MeteredBytes metered_;  // Memory of ids_ and taking_.
  std::vector<int64_t> ids_;
  // The ids of an earlier list. Take empties taking_ before ids_, so that rows
  // that change all the time do not delay the report of other rows.
  std::vector<int64_t> taking_;
  bool lost_ = false;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_TOUCHED_ROWS_H_
