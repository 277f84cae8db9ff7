// RowSlab: allocates rows of one size. A row is identified by a number. Its
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

  // `row_bytes` is at least 4. Counts its memory at `meter` unless that is
  // null.
  explicit RowSlab(size_t row_bytes, MemoryMeter* meter = nullptr);
  ~RowSlab();
  RowSlab(const RowSlab&) = delete;
  RowSlab& operator=(const RowSlab&) = delete;

  std::byte* at(Row row) const {
    return chunks_[row >> chunk_bits_] + (row & chunk_mask_) * row_bytes_;
  }

  // Prefetches the list of chunks.
  void AskForChunks() const { Prefetch(chunks_.data()); }

  // Returns a row with undefined contents. Throws std::bad_alloc if there is no
  // memory; the slab is then unchanged.
  Row Allocate();

  // All but the first 4 bytes of the row stay intact until it is allocated
  // again.
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
  // Memory of `rows` rows that are a chunk by themselves, or the first part of
  // one.
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
  size_t chunk_bytes_;       // Their memory.
  uint32_t chunk_bits_ = 0;  // A row's number is chunk << chunk_bits_ | index.
  uint32_t chunk_mask_ = 0;
  std::vector<std::byte*> chunks_;
  // The first chunk starts small, since every sub-shard of every table has one.
  size_t first_chunk_rows_ = 0;
  size_t used_in_last_ = 0;  // Rows of the last chunk that were ever allocated.
  Row first_free_ = kNone;   // Each free row starts with the next one's number.
  MeteredBytes metered_;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_ROW_SLAB_H_
