// Finds the values of a batch's columns.
//
// Thread-safety: plain functions and values. Never blocks.

#ifndef PERSIA_CC_COLUMNS_BATCH_COLUMNS_H_
#define PERSIA_CC_COLUMNS_BATCH_COLUMNS_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/base/export.h"
#include "cc/base/status.h"
#include "cc/columns/arrow_array.h"
#include "cc/columns/column_type.h"

namespace persia {

// Where each of some values begins, and where the last one ends.
class Offsets {
 public:
  Offsets() = default;
  // `at` may be null if there are no values.
  Offsets(const void* at, size_t width) : at_(at), width_(width) {}

  // Precondition: i <= the number of values.
  uint64_t operator[](size_t i) const {
    if (at_ == nullptr) return 0;
    return width_ == 4 ? static_cast<const uint32_t*>(at_)[i]
                       : static_cast<const uint64_t*>(at_)[i];
  }

 private:
  const void* at_ = nullptr;
  size_t width_ = 0;
};

// Numbers of one bit, the least of a byte first.
class Bits {
 public:
  Bits() = default;
  // `first` is the number of the first bit.
  explicit Bits(const void* at, size_t first = 0) : at_(at), first_(first) {}

  bool operator[](size_t i) const {
    const size_t bit = first_ + i;
    return (static_cast<const uint8_t*>(at_)[bit / 8] >> (bit % 8) & 1) != 0;
  }

 private:
  const void* at_ = nullptr;
  size_t first_ = 0;
};

// The values of a column. They point into the batch.
struct BatchColumn {
  size_t rows = 0;
  // The values of all rows. They are as many as the rows, if rows are no lists.
  size_t count = 0;
  const uint8_t* values = nullptr;  // The first one, if all have whole bytes.
  Bits bits;                        // The values, if they are bits.
  Offsets texts;                    // In `values`, for strings of bytes.
  Offsets lists;                    // In numbers of values, if rows are lists.
};

// Returns some rows of the columns of a batch.
//
// Precondition: the columns have these types, as pyarrow makes them. Only their
// number is checked, how many buffers and children they have, that the batch
// has the rows, and that no value is missing; otherwise this returns
// kInvalidArgument.
PERSIA_EXPORT Result<std::vector<BatchColumn>> ColumnsOf(
    const ArrowArray& batch, int64_t first, int64_t rows,
    const std::vector<ColumnType>& types);

}  // namespace persia

#endif  // PERSIA_CC_COLUMNS_BATCH_COLUMNS_H_
