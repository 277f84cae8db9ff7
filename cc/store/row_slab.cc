#include "cc/store/row_slab.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>

#include "cc/store/block_pool.h"

namespace persia {
namespace {

constexpr std::align_val_t kCacheLine{64};
// Rows up to this size are allocated in blocks of the BlockPool: larger rows
// would leave much of a block unused.
constexpr size_t kMostPooledRowBytes = 4096;
// The number of rows per chunk, if rows are larger than kMostPooledRowBytes.
constexpr size_t kLargeRows = 16;
constexpr size_t kFirstRows = 4;

std::byte* New(size_t bytes) {
  return static_cast<std::byte*>(::operator new(bytes, kCacheLine));
}

void Delete(std::byte* memory) { ::operator delete(memory, kCacheLine); }

}  // namespace

RowSlab::RowSlab(size_t row_bytes, MemoryMeter* meter)
    : row_bytes_(row_bytes),
      chunk_rows_(row_bytes <= kMostPooledRowBytes
                      ? BlockPool::kBlockBytes / row_bytes
                      : kLargeRows),
      chunk_bytes_(chunk_rows_ * row_bytes),
      metered_(meter) {
  while ((size_t{1} << chunk_bits_) < chunk_rows_) ++chunk_bits_;
  chunk_mask_ = (1u << chunk_bits_) - 1;
}

RowSlab::~RowSlab() {
  for (size_t c = 0; c < chunks_.size(); ++c) {
    const bool full_size = c > 0 || first_chunk_rows_ == chunk_rows_;
    if (full_size && pooled()) {
      BlockPool::Global().Free(chunks_[c]);
    } else {
      Delete(chunks_[c]);
    }
  }
}

RowSlab::Row RowSlab::Allocate() {
  if (first_free_ != kNone) {
    const Row row = first_free_;
    std::memcpy(&first_free_, at(row), sizeof(first_free_));
    return row;
  }
  if (first_chunk_rows_ < chunk_rows_) {
    if (used_in_last_ == first_chunk_rows_) GrowFirstChunk();
  } else if (used_in_last_ == chunk_rows_) {
    AddChunk();
  }
  const size_t chunk = chunks_.size() - 1;
  return static_cast<Row>(chunk << chunk_bits_ | used_in_last_++);
}

size_t RowSlab::bytes() const {
  if (chunks_.empty()) return 0;
  return BytesOf(first_chunk_rows_) + (chunks_.size() - 1) * full_chunk_bytes();
}

std::byte* RowSlab::Take(size_t rows) {
  return metered_.Grow(BytesOf(rows), [&] {
    return rows == chunk_rows_ && pooled()
               ? static_cast<std::byte*>(BlockPool::Global().Allocate())
               : New(rows * row_bytes_);
  });
}

void RowSlab::AddChunk() {
  const uint64_t end = (uint64_t{chunks_.size()} + 1) << chunk_bits_;
  if (end > std::numeric_limits<Row>::max()) throw std::bad_alloc();
  if (chunks_.size() == chunks_.capacity()) chunks_.reserve(2 * chunks_.size());
  chunks_.push_back(Take(chunk_rows_));
  used_in_last_ = 0;
}

void RowSlab::GrowFirstChunk() {
  const size_t rows =
      std::min(chunk_rows_, std::max(kFirstRows, 2 * first_chunk_rows_));
  chunks_.reserve(1);
  std::byte* grown = Take(rows);
  if (chunks_.empty()) {
    chunks_.push_back(grown);
  } else {
    std::memcpy(grown, chunks_[0], used_in_last_ * row_bytes_);
    Delete(chunks_[0]);
    metered_.Shrink(BytesOf(first_chunk_rows_));
    chunks_[0] = grown;
  }
  first_chunk_rows_ = rows;
}

}  // namespace persia
