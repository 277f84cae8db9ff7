#include "cc/columns/batch_columns.h"

namespace persia {
namespace {

// Some values of an array that follow each other.
struct Part {
  const ArrowArray& array;
  size_t begin;  // With the array's own offset.
  size_t count;
};

bool HasNulls(const Part& part) {
  const void* const valid = part.array.buffers[0];
  if (valid == nullptr || part.array.null_count == 0) return false;
  const Bits are_valid(valid, part.begin);
  for (size_t i = 0; i < part.count; ++i) {
    if (!are_valid[i]) return true;
  }
  return false;
}

Status Check(const Part& part, int64_t buffers, int64_t children) {
  const ArrowArray& array = part.array;
  if (array.n_buffers != buffers || array.n_children != children ||
      array.dictionary != nullptr) {
    return InvalidArgument("a column has another type than its format");
  }
  if (HasNulls(part)) return InvalidArgument("a column lacks a value");
  return Status();
}

const uint8_t* At(const void* buffer, size_t bytes) {
  if (buffer == nullptr) return nullptr;
  return static_cast<const uint8_t*>(buffer) + bytes;
}

Status FindValues(const Part& part, const ColumnType& type,
                  BatchColumn* column) {
  using Values = ColumnType::Values;
  const bool is_texts = type.values == Values::kTexts;
  PERSIA_RETURN_IF_ERROR(Check(part, is_texts ? 3 : 2, 0));
  const void* const* const buffers = part.array.buffers;
  column->count = part.count;
  switch (type.values) {
    case Values::kFixed:
      column->values = At(buffers[1], part.begin * type.width);
      break;
    case Values::kBits:
      column->bits = Bits(buffers[1], part.begin);
      break;
    case Values::kTexts:
      column->texts =
          Offsets(At(buffers[1], part.begin * type.width), type.width);
      column->values = At(buffers[2], 0);
      break;
  }
  return Status();
}

Status FindLists(const Part& part, const ColumnType& type,
                 BatchColumn* column) {
  PERSIA_RETURN_IF_ERROR(Check(part, 2, 1));
  const size_t width = type.list_width;
  column->lists = Offsets(At(part.array.buffers[1], part.begin * width), width);
  const ArrowArray& values = *part.array.children[0];
  const size_t first = column->lists[0];
  const size_t count = column->lists[part.count] - first;
  const size_t begin = static_cast<size_t>(values.offset) + first;
  return FindValues({values, begin, count}, type, column);
}

}  // namespace

Result<std::vector<BatchColumn>> ColumnsOf(
    const ArrowArray& batch, int64_t first, int64_t rows,
    const std::vector<ColumnType>& types) {
  if (first < 0 || rows < 0 || rows > batch.length ||
      first > batch.length - rows) {
    return InvalidArgument("a batch of ", batch.length, " rows has no ", rows,
                           " rows from ", first, " on");
  }
  if (batch.n_children != static_cast<int64_t>(types.size())) {
    return InvalidArgument("a batch has ", batch.n_children,
                           " columns, and there are ", types.size(),
                           " formats");
  }
  std::vector<BatchColumn> columns;
  for (size_t i = 0; i < types.size(); ++i) {
    const ArrowArray& array = *batch.children[i];
    const auto begin = static_cast<size_t>(batch.offset + array.offset + first);
    BatchColumn column;
    column.rows = static_cast<size_t>(rows);
    const auto find = types[i].list_width == 0 ? FindValues : FindLists;
    PERSIA_RETURN_IF_ERROR(
        find({array, begin, column.rows}, types[i], &column));
    columns.push_back(column);
  }
  return columns;
}

}  // namespace persia
