// RowSlab: allocates rows of one size. A row is identified by a number. A row's
// memory may move only during Allocate, and only while the slab is smaller than
// a chunk.
//
// Not thread-safe: its sub-shard's lock guards it.

#ifndef PERSIA_CC_STORE_ROW_SLAB_H_
#define PERSIA_CC_STORE_ROW_SLAB_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cc/base/memory_meter.h"
#include "cc/base/prefetch.h"
#include "cc/store/block_pool.h"

namespace persia {

class RowSlab {
 public:
  using Row = uint32_t;

  // `row_bytes` is at least 4. Counts the object's memory at `meter`, unless
  // `meter` is null. `meter` must outlive the object.
  explicit RowSlab(size_t row_bytes, MemoryMeter* meter = nullptr);
  ~RowSlab();
  RowSlab(const RowSlab&) = delete;
  RowSlab& operator=(const RowSlab&) = delete;

  std::byte* at(Row row) const {
    return chunks_[row >> chunk_bits_] + (row & chunk_mask_) * row_bytes_;
  }

  // Prefetches the list of chunks.
  void PrefetchChunks() const { Prefetch(chunks_.data()); }

  // Returns a row with undefined contents. Throws std::bad_alloc if there is no
  // memory; the slab is then unchanged.
  Row Allocate();

  // Frees a row. All but its first 4 bytes stay intact until Allocate returns
  // the row again.
  void Free(Row row) {
    std::memcpy(at(row), &first_free_, sizeof(first_free_));
    first_free_ = row;
  }

  size_t bytes() const;

 private:
  static constexpr Row kNone = ~Row{0};

  size_t full_chunk_bytes() const {
    return pooled() ? BlockPool::kBlockBytes : chunk_bytes_;
  }
  // Returns the memory of a chunk that has `rows` rows. Only the first chunk
  // may have fewer than chunk_rows_.
  size_t BytesOf(size_t rows) const {
    return rows == chunk_rows_ ? full_chunk_bytes() : rows * row_bytes_;
  }
  std::byte* Take(size_t rows);
  // Whether full chunks are blocks of the BlockPool.
  bool pooled() const { return chunk_bytes_ <= BlockPool::kBlockBytes; }
  void AddChunk();
  void GrowFirstChunk();

  const size_t row_bytes_;
  size_t chunk_rows_;        // Rows per full chunk.
  size_t chunk_bytes_;       // Bytes of the rows of a full chunk.
  uint32_t chunk_bits_ = 0;  // A row's number is chunk << chunk_bits_ | index.
  uint32_t chunk_mask_ = 0;
  std::vector<std::byte*> chunks_;
  // The first chunk starts small, since every sub-shard of every table has one.
  size_t first_chunk_rows_ = 0;
  size_t used_in_last_ = 0;  // Rows of the last chunk that were ever allocated.
  // The first row in a list of free rows. Each free row begins with the number
  // of the next one.
  Row first_free_ = kNone;
  MeteredBytes metered_;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_ROW_SLAB_H_
