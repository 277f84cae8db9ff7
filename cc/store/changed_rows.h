// ChangedRows: which rows of a sub-shard changed from some moment on, and which
// ids lost theirs.
//
// A bit a row, by its number; the memory grows with the highest one, past a
// memory limit too, since it is little beside the rows. Nothing here fails:
// what there was no memory to note makes all of it `lost`.
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

  // Counts its memory at `meter`, if there is one, which must outlive it.
  explicit ChangedRows(MemoryMeter* meter = nullptr)
      : meter_(meter), rows_(meter) {}

  // A row that was set, or is about to be.
  void Mark(Row row) {
    Noting([&] { rows_.Add(row); });
  }

  // All of them but the absent ones: a batch that an update is of.
  void MarkAll(Span<const Row> rows) {
    Noting([&] { rows_.AddAll(rows); });
  }

  // An id that has a new row.
  void MarkCreated(int64_t id, Row row) {
    Mark(row);
    if (erased_ != nullptr) (void)erased_->Erase(id);
  }

  // An id whose row goes. Its number may be given to another id.
  void MarkErased(int64_t id);

  // Adds what `earlier` noted, which ended where this began. An id that it saw
  // go may have a row again: in `index`, which is as it is now.
  void Merge(const ChangedRows& earlier, const RowIndex& index);

  bool Has(Row row) const { return rows_.Has(row); }

  // Appends the ids that lost their rows and have no new ones.
  void AppendErased(std::vector<int64_t>* ids) const;

  const RowSet& set() const { return rows_; }

  // About how many rows: some may have gone since.
  size_t rows() const { return rows_.size(); }
  size_t bytes() const;

  // There was no memory to note all.
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
  std::unique_ptr<RowIndex> erased_;  // Ids; the rows mean nothing.
  bool lost_ = false;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_CHANGED_ROWS_H_
