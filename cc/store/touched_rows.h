// TouchedRows: the ids of a sub-shard that one who follows it is still to be
// told of.
//
// A list of ids, each in it once for a row's life: a bit a row, by its number,
// says that its id is in the list, or is one that a walk over all rows will
// come to. The bit goes with the row, as its number may be given to another id.
// So to be told costs what changed, and not a walk over the index.
//
// Nothing here fails: what there was no memory to note makes all of it `lost`,
// and so does a list that outgrows the rows by far, as ids come and go.
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

  // Of the rows of `index`. Counts its memory at `meter`, if there is one. Both
  // must outlive it.
  explicit TouchedRows(const RowIndex* index, MemoryMeter* meter = nullptr)
      : index_(*index),
        rows_(meter),
        metered_(meter, MeteredBytes::AtLimit::kGrow) {}

  // A row that was set, or is about to be.
  void Touch(int64_t id, Row row) {
    if (!rows_.Has(row)) Create(id, row);
  }

  // An id that has a new row. The bit may be set: of a row that is gone.
  void Create(int64_t id, Row row) {
    if (lost_) return;
    Noting([&] {
      rows_.Add(row);
      Push(id);
    });
  }

  // `rows` are of the ids; those that are absent are left out.
  void TouchAll(Span<const int64_t> ids, const Row* rows) {
    for (size_t i = 0; i < ids.size(); ++i) {
      if (rows[i] != RowIndex::kAbsent) Touch(ids[i], rows[i]);
    }
  }

  // An id that loses its row.
  void Erase(int64_t id, Row row) {
    if (lost_) return;
    (void)rows_.Remove(row);
    Noting([&] { Push(id); });
  }

  // What was noted before, maybe of rows that are gone. A walk must come to the
  // others.
  void Add(const ChangedRows& changes);

  // The row is told of now. Whether there was a reason.
  bool Settle(Row row) { return rows_.Remove(row); }

  // Appends up to `count` ids, which leave the list: those first that have been
  // in it for long. Some may be told of already: their rows' bits are not set.
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
  MeteredBytes metered_;  // Of ids_ and taking_.
  std::vector<int64_t> ids_;
  // Was ids_: Take goes on here, so that nothing waits for what is touched all
  // the time.
  std::vector<int64_t> taking_;
  bool lost_ = false;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_TOUCHED_ROWS_H_
