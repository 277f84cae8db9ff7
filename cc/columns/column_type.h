// ColumnType: how the values of a column lie in the buffers of Arrow.
//
// Thread-safety: plain values, no shared state.

#ifndef PERSIA_CC_COLUMNS_COLUMN_TYPE_H_
#define PERSIA_CC_COLUMNS_COLUMN_TYPE_H_

#include <cstddef>
#include <string_view>

#include "cc/base/export.h"
#include "cc/base/status.h"

namespace persia {

struct ColumnType {
  enum class Values {
    kFixed,  // All of `width` bytes.
    kBits,   // Booleans, eight to a byte.
    kTexts,  // Strings of bytes, with offsets of `width` bytes.
  };
  Values values = Values::kFixed;
  size_t width = 0;
  // The bytes of an offset, if each row has a list of values; otherwise 0.
  size_t list_width = 0;
};

// Returns the type that a format string of Arrow's C data interface means, such
// as "l" for int64. A list is "+l", or "+L" with offsets of 64 bits, followed
// by the format of its values. Returns kInvalidArgument for any other type than
// numbers, booleans, strings, binary, and lists of these.
// https://arrow.apache.org/docs/format/CDataInterface.html
PERSIA_EXPORT Result<ColumnType> ParseColumnType(std::string_view format);

}  // namespace persia

#endif  // PERSIA_CC_COLUMNS_COLUMN_TYPE_H_
