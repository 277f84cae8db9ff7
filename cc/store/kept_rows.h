// KeptRows: preserves the rows of a sub-shard as they were when it was frozen.
//
// A reader scans the sub-shard in the order of the ids' hashes while other
// threads use it. Before a row that the reader has not reached changes, a copy
// of the row is stored here (copy-on-write). The reader skips the row itself
// and reads the copy instead. So memory is needed only for rows that change
// before they are read.
//
// No function here fails: if memory for a copy runs out, the whole object
// becomes `failed`. Not thread-safe: its sub-shard's lock guards it.

#ifndef PERSIA_CC_STORE_KEPT_ROWS_H_
#define PERSIA_CC_STORE_KEPT_ROWS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/base/memory_meter.h"
#include "cc/base/span.h"
#include "cc/store/row_index.h"
#include "cc/store/row_set.h"

namespace persia {

class KeptRows {
 public:
  using Row = RowSet::Row;

  // Preserves the rows of `index`, over which the reader walks. Counts the
  // object's memory at `meter`, unless `meter` is null. `index` and `meter`
  // must outlive the object.
  KeptRows(const RowIndex* index, size_t row_bytes,
           MemoryMeter* meter = nullptr)
      : index_(index),
        row_bytes_(row_bytes),
        chunk_rows_(std::clamp<size_t>(kChunkBytes / row_bytes, 1, kMostRows)),
        replaced_(meter),
        metered_(meter, MeteredBytes::AtLimit::kGrow) {}

  // Call this before a row changes or is removed. Returns true if the row was
  // neither read nor copied yet: the caller must then call Add before the
  // change.
  bool MustAdd(int64_t id, Row row) {
    return !replaced_.Has(row) && index_->HashOf(id) >= next_ && !ended_ &&
           !failed_ && Replace(row);
  }
  void Add(int64_t id, const std::byte* row);

  // An update of many rows calls BeginUpdate, then Expect for each row in the
  // order of their places. Before it changes a part of the rows, it calls
  // AddExpected for that part. After the last part it calls EndUpdate.
  void BeginUpdate() {
    if (!expected_.empty()) Fail();  // The last update was cut short.
  }
  void Expect(uint32_t place, int64_t id, Row row);
  // Copies the expected rows whose places are before `end`. `ids` and `rows`
  // are those of the whole update.
  void AddExpected(Span<const int64_t> ids, std::byte* const* rows, size_t end);
  void EndUpdate() {
    expected_.clear();
    next_expected_ = 0;
  }

  // Call for a row that was created after the sub-shard was frozen.
  void NoteNew(int64_t id, Row row) { (void)MustAdd(id, row); }

  // Whether the reader must skip the row: it was copied or is new.
  bool Has(Row row) const { return replaced_.Has(row); }

  // Records that the reader has read all rows with hashes below `next`, or all
  // rows if `next` is 0.
  void ReadTo(uint64_t next) {
    next_ = next;
    ended_ = next == 0;
  }
  bool ended() const { return ended_; }
  // The hash at which the reader continues.
  uint64_t next() const { return next_; }

  // Passes some of the copies to `take` and frees them. Returns false if there
  // are no copies. `take` is a function with the signature
  // void(int64_t id, const std::byte* row).
  template <typename Take>
  bool TakeSome(const Take& take);

  // Whether copies are missing because memory ran out or an update was cut
  // short.
  bool failed() const { return failed_ || !expected_.empty(); }

 private:
  // Copies are allocated and freed in chunks of about this size. A chunk has
  // room for at least one row and at most kMostRows.
  static constexpr size_t kChunkBytes = size_t{64} << 10;
  static constexpr size_t kMostRows = 128;

  struct Chunk {
    std::vector<int64_t> ids;
    std::vector<std::byte> rows;
  };

  size_t chunk_bytes() const {
    return chunk_rows_ * (sizeof(int64_t) + row_bytes_);
  }
  bool Replace(Row row);
  void AddChunk();
  void Fail();

  const RowIndex* index_;
  size_t row_bytes_;
  size_t chunk_rows_;
  uint64_t next_ = 0;
  bool ended_ = false;
  bool failed_ = false;
  RowSet replaced_;  // Rows ahead of the reader that were copied or are new.
  MeteredBytes metered_;  // Memory of chunks_.
  std::vector<Chunk> chunks_;
  std::vector<uint32_t> expected_;
  size_t next_expected_ = 0;
};

template <typename Take>
bool KeptRows::TakeSome(const Take& take) {
  if (chunks_.empty()) return false;
  const Chunk& chunk = chunks_.back();
  for (size_t i = 0; i < chunk.ids.size(); ++i) {
    take(chunk.ids[i], chunk.rows.data() + i * row_bytes_);
  }
  chunks_.pop_back();
  metered_.Shrink(chunk_bytes());
  return true;
}

}  // namespace persia

#endif  // PERSIA_CC_STORE_KEPT_ROWS_H_
