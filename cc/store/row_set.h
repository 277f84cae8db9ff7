// RowSet: a set of rows of a sub-shard, as one bit per row number.
//
// The memory of a set grows with the highest row number. Not thread-safe: its
// sub-shard's lock guards it.

#ifndef PERSIA_CC_STORE_ROW_SET_H_
#define PERSIA_CC_STORE_ROW_SET_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/base/memory_meter.h"
#include "cc/base/span.h"
#include "cc/store/row_index.h"

namespace persia {

class RowSet {
 public:
  using Row = RowIndex::Row;

  // Counts the object's memory at `meter`, unless `meter` is null. `meter` must
  // outlive the object.
  explicit RowSet(MemoryMeter* meter = nullptr)
      : metered_(meter, MeteredBytes::AtLimit::kGrow) {}

  bool Has(Row row) const {
    const size_t word = row / kWordBits;
    return word < words_.size() && (words_[word] & Bit(row)) != 0;
  }

  // The Add functions throw std::bad_alloc if there is no memory.
  void Add(Row row) {
    const size_t word = row / kWordBits;
    if (word >= words_.size()) Grow(word);
    words_[word] |= Bit(row);
  }

  // Returns whether the row was in the set.
  bool Remove(Row row) {
    if (!Has(row)) return false;
    words_[row / kWordBits] &= ~Bit(row);
    return true;
  }

  // Adds all rows of an update's batch, except kAbsent.
  void AddAll(Span<const Row> rows) {
    uint64_t* const words = words_.data();
    const size_t size = words_.size();
    for (const Row row : rows) {
      const size_t word = row / kWordBits;
      if (word < size) {
        words[word] |= Bit(row);
      } else if (row != RowIndex::kAbsent) {
        return AddEach(rows);
      }
    }
  }

  void AddAll(const RowSet& other) {
    if (other.words_.size() > words_.size()) Grow(other.words_.size() - 1);
    for (size_t i = 0; i < other.words_.size(); ++i) {
      words_[i] |= other.words_[i];
    }
  }

  size_t size() const {
    size_t rows = 0;
    for (const uint64_t word : words_) {
      rows += static_cast<size_t>(__builtin_popcountll(word));
    }
    return rows;
  }

  size_t bytes() const { return words_.capacity() * sizeof(uint64_t); }

 private:
  static constexpr size_t kWordBits = 64;

  static uint64_t Bit(Row row) { return uint64_t{1} << row % kWordBits; }

  void AddEach(Span<const Row> rows) {
    for (const Row row : rows) {
      if (row != RowIndex::kAbsent) Add(row);
    }
  }

  void Grow(size_t word) {
    const size_t size = std::max(word + 1, 2 * words_.size());
    metered_.Grow((size - words_.size()) * sizeof(uint64_t),
                  [&] { words_.resize(size); });
  }

  MeteredBytes metered_;
  std::vector<uint64_t> words_;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_ROW_SET_H_
