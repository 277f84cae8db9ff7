// TouchedRows: the ids of a sub-shard that a follower has not been told of yet.
//
// A list of ids, each at most once during the lifetime of its row: a bit per
// row number says that the row's id is in the list, or that a walk over all
// rows will visit it. The bit is cleared when the row is removed, as its number
// may be given to another id. So the cost of reporting depends on the number of
// changes, not on the size of the index.
//
// Nothing here fails: if memory runs out while a change is recorded, or if the
// list becomes much longer than there are rows, as ids come and go, all becomes
// `lost`.
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

  // Records changes of the rows in `index`. Counts its memory at `meter` unless
  // that is null. Both must outlive this.
  explicit TouchedRows(const RowIndex* index, MemoryMeter* meter = nullptr)
      : index_(*index),
        rows_(meter),
        metered_(meter, MeteredBytes::AtLimit::kGrow) {}

  // Call for a row that was set or is about to be.
  void Touch(int64_t id, Row row) {
    if (!rows_.Has(row)) Create(id, row);
  }

  // Call for an id that got a new row. The row's bit may still be set for an
  // earlier row of this number.
  void Create(int64_t id, Row row) {
    if (lost_) return;
    Noting([&] {
      rows_.Add(row);
      Push(id);
    });
  }

  // `rows` are the rows of `ids`; absent ones are skipped.
  void TouchAll(Span<const int64_t> ids, const Row* rows) {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (rows[i] != RowIndex::kAbsent) Touch(ids[i], rows[i]);
    }
  }

  // Call for an id that loses its row.
  void Erase(int64_t id, Row row) {
    if (lost_) return;
    (void)rows_.Remove(row);
    Noting([&] { Push(id); });
  }

  // Adds earlier changes, which may be of rows that no longer exist. A walk
  // over all rows must report the rows; only erased ids are listed.
  void Add(const ChangedRows& changes);

  // Call when the row is reported. Returns whether its bit was set.
  bool Settle(Row row) { return rows_.Remove(row); }

  // Moves up to `count` ids from the list to `ids`: ids from older lists first.
  // Some may have been reported already: the bits of their rows are not set.
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
  // An earlier ids_: Take empties it first, so that rows that change all the
  // time do not delay others.
  std::vector<int64_t> taking_;
  bool lost_ = false;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_TOUCHED_ROWS_H_
