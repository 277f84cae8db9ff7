// RowSlab: memory for rows of one size, in chunks that never move.
//
// Not thread-safe: its sub-shard's lock guards it.

#ifndef PERSIA_CC_STORE_ROW_SLAB_H_
#define PERSIA_CC_STORE_ROW_SLAB_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <new>
#include <utility>
#include <vector>

namespace persia {

class RowSlab {
 public:
  explicit RowSlab(size_t row_floats) : row_floats_(row_floats) {
    while ((row_floats_ * sizeof(float) << (chunk_bits_ + 1)) <= kChunkBytes) {
      ++chunk_bits_;
    }
  }

  uint32_t size() const { return size_; }
  size_t bytes() const {
    return chunks_.size() * chunk_floats() * sizeof(float);
  }

  float* row(uint32_t index) const {
    const size_t in_chunk = index & ((size_t{1} << chunk_bits_) - 1);
    return chunks_[index >> chunk_bits_].get() + in_chunk * row_floats_;
  }

  // Memory for row size(), not yet part of the slab: Commit makes it so.
  // std::bad_alloc if there is none.
  float* Reserve() {
    if (size_ == std::numeric_limits<uint32_t>::max()) throw std::bad_alloc();
    if (size_ >> chunk_bits_ == chunks_.size()) {
      Chunk chunk(new (kAlignment) float[chunk_floats()]);
      chunks_.push_back(std::move(chunk));
    }
    return row(size_);
  }

  void Commit() { ++size_; }

 private:
  // Small, since every sub-shard of every table has one that is partly empty.
  static constexpr size_t kChunkBytes = 64 << 10;
  static constexpr std::align_val_t kAlignment{64};  // A cache line.

  struct Free {
    void operator()(float* chunk) const {
      ::operator delete[](chunk, kAlignment);
    }
  };
  using Chunk = std::unique_ptr<float[], Free>;

  size_t chunk_floats() const { return row_floats_ << chunk_bits_; }

  const size_t row_floats_;
  uint32_t chunk_bits_ = 0;  // Log2 of the rows of a chunk.
  uint32_t size_ = 0;
  std::vector<Chunk> chunks_;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_ROW_SLAB_H_
