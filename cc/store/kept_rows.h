// KeptRows: what makes a frozen sub-shard look as it was.
//
// A reader goes through the sub-shard in the order of the ids' hashes, while it
// is used. Whoever is about to change a row that the reader has not come to
// keeps a copy of it first, and the reader leaves out the row and takes the
// copy, at any time. So it costs memory only for rows that change before they
// are read.
//
// Nothing here fails: what there was no memory to keep makes all of it
// `failed`. Not thread-safe: its sub-shard's lock guards it.

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

  // Of the rows of `index`, over which the reader walks. Counts its memory at
  // `meter`, if there is one. Both must outlive it.
  KeptRows(const RowIndex* index, size_t row_bytes,
           MemoryMeter* meter = nullptr)
      : index_(index),
        row_bytes_(row_bytes),
        chunk_rows_(std::clamp<size_t>(kChunkBytes / row_bytes, 1, kMostRows)),
        replaced_(meter),
        metered_(meter, MeteredBytes::AtLimit::kGrow) {}

  // The row is about to change or to go. True if it must be kept first: it was
  // not read, and is not kept. Add it before it changes.
  bool MustAdd(int64_t id, Row row) {
    return !replaced_.Has(row) && index_->HashOf(id) >= next_ && !ended_ &&
           !failed_ && Replace(row);
  }
  void Add(int64_t id, const std::byte* row);

  // An update of many rows adds those that must be when it comes to them: it
  // expects each first, by its place, in their order.
  void BeginUpdate() {
    if (!expected_.empty()) Fail();  // An update ended before it came to them.
  }
  void Expect(uint32_t place, int64_t id, Row row);
  // Adds those whose places are before `end`, of the update's ids and rows.
  void AddExpected(Span<const int64_t> ids, std::byte* const* rows, size_t end);
  void EndUpdate() {
    expected_.clear();
    next_expected_ = 0;
  }

  // The row was not there when the sub-shard was frozen.
  void NoteNew(int64_t id, Row row) { (void)MustAdd(id, row); }

  // Whether the reader must leave it out: it is kept, or is new.
  bool Has(Row row) const { return replaced_.Has(row); }

  // The reader has come to hash `next`; 0: to the end.
  void ReadTo(uint64_t next) {
    next_ = next;
    ended_ = next == 0;
  }
  bool ended() const { return ended_; }
  // Where the reader goes on.
  uint64_t next() const { return next_; }

  // Gives some of the kept rows, which are forgotten; false if there are none.
  // take: void(int64_t id, const std::byte* row)
  template <typename Take>
  bool TakeSome(const Take& take);

  // There was no memory to keep a row: what it was is lost.
  bool failed() const { return failed_ || !expected_.empty(); }

 private:
  // What is given at once, and allocated at once: a row at least.
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
  RowSet replaced_;       // Of what the reader has not come to.
  MeteredBytes metered_;  // Of chunks_.
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
