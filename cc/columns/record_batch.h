// Parses a record batch of Arrow: some rows of some columns, in one message, as
// pyarrow's `RecordBatch.serialize` makes it.
//
// Thread-safety: plain functions and values. Never blocks.

#ifndef PERSIA_CC_COLUMNS_RECORD_BATCH_H_
#define PERSIA_CC_COLUMNS_RECORD_BATCH_H_

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "cc/base/export.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/columns/column_type.h"

namespace persia {

// Where each of some values begins, and where the last one ends: they begin
// with 0 and never decrease.
class Offsets {
 public:
  Offsets() = default;
  Offsets(ConstBytes bytes, size_t width) : bytes_(bytes), width_(width) {}

  // Precondition: i <= the number of values.
  uint64_t operator[](size_t i) const {
    if (bytes_.empty()) return 0;  // Arrow leaves out the one 0 of no values.
    return width_ == 4 ? Load<uint32_t>(i) : Load<uint64_t>(i);
  }

 private:
  template <typename T>
  T Load(size_t i) const {
    T value;
    std::memcpy(&value, bytes_.data() + i * sizeof(T), sizeof(T));
    return value;
  }

  ConstBytes bytes_;
  size_t width_ = 0;
};

// The values of a column. They point into the message.
struct Column {
  size_t rows = 0;
  // The values of all rows. They are as many as the rows, if rows are no lists.
  size_t count = 0;
  ConstBytes values;
  Offsets texts;  // Within `values`, for strings of bytes.
  Offsets lists;  // In numbers of values, if rows are lists.
};

// Returns the columns of a message, whose types must be these. All sizes and
// offsets are checked. Returns kDataLoss if the message is damaged or of other
// types, or lacks a value.
PERSIA_EXPORT Result<std::vector<Column>> ParseRecordBatch(
    ConstBytes message, const std::vector<ColumnType>& types);

}  // namespace persia

#endif  // PERSIA_CC_COLUMNS_RECORD_BATCH_H_
