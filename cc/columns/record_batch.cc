#include "cc/columns/record_batch.h"

#include <string>
#include <utility>

#include "cc/columns/flat_table.h"

namespace persia {
namespace {

// Before the metadata: a mark, and the metadata's size.
constexpr uint32_t kMark = 0xFFFFFFFF;
constexpr size_t kPrefixBytes = 2 * sizeof(uint32_t);

// Fields of the tables in Arrow's format/Message.fbs.
constexpr int kHeaderType = 1;
constexpr int kHeader = 2;
constexpr uint8_t kRecordBatch = 3;
constexpr int kRows = 0;
constexpr int kNodes = 1;
constexpr int kBuffers = 2;
constexpr int kCompression = 3;

// A node tells of a column how many values it has, and how many of them are
// missing; a buffer where it begins in the body, and its size.
struct Pair {
  int64_t first;
  int64_t second;
};

Status Damaged(const char* what) {
  return Status(Code::kDataLoss,
                std::string("the message of a batch is damaged: ") + what);
}

// Takes the nodes and buffers of a message in their order.
class Pieces {
 public:
  Pieces(const FlatTable& batch, ConstBytes body)
      : nodes_(batch.Vector(kNodes, sizeof(Pair))),
        buffers_(batch.Vector(kBuffers, sizeof(Pair))),
        body_(body) {}

  // Returns how many values the next column has.
  Result<size_t> Count() {
    Pair node;
    if (!Take(&nodes_, &node)) return Damaged("it has too few columns");
    if (node.first < 0) return Damaged("a column has a negative size");
    if (node.second != 0) return Damaged("a column lacks values");
    // Which values are missing, if any.
    auto missing = Buffer(0);
    if (!missing.ok()) return missing.status();
    return static_cast<size_t>(node.first);
  }

  // Returns the next buffer, which must have some bytes at least.
  Result<ConstBytes> Buffer(uint64_t least) {
    Pair place;
    if (!Take(&buffers_, &place)) return Damaged("it has too few buffers");
    const auto begin = static_cast<uint64_t>(place.first);
    const auto size = static_cast<uint64_t>(place.second);
    if (begin > body_.size() || size > body_.size() - begin) {
      return Damaged("a buffer is not within it");
    }
    if (size < least) return Damaged("a buffer is too small");
    return body_.subspan(begin, size);
  }

  // Returns the next buffer as the offsets of `count` values.
  Result<Offsets> NextOffsets(size_t count, size_t width, uint64_t* end) {
    if (count > body_.size()) return Damaged("a column is too large");
    auto bytes = Buffer(count == 0 ? 0 : (count + 1) * width);
    if (!bytes.ok()) return bytes.status();
    if (bytes->size() < width) *bytes = {};
    const Offsets offsets(*bytes, width);
    *end = offsets[0];
    if (*end != 0) return Damaged("offsets do not begin with 0");
    for (size_t i = 1; i <= count; ++i) {
      if (offsets[i] < *end) return Damaged("offsets decrease");
      *end = offsets[i];
    }
    return offsets;
  }

  bool empty() const { return nodes_.empty() && buffers_.empty(); }

 private:
  static bool Take(ConstBytes* pairs, Pair* pair) {
    if (pairs->size() < sizeof(Pair)) return false;
    std::memcpy(pair, pairs->data(), sizeof(Pair));
    *pairs = pairs->subspan(sizeof(Pair));
    return true;
  }

  ConstBytes nodes_;
  ConstBytes buffers_;
  const ConstBytes body_;
};

Status TakeLists(Pieces* pieces, const ColumnType& type, Column* column) {
  uint64_t end = 0;
  auto lists = pieces->NextOffsets(column->rows, type.list_width, &end);
  if (!lists.ok()) return lists.status();
  auto count = pieces->Count();
  if (!count.ok()) return count.status();
  if (*count != end)
    return Damaged("lists have another size than their values");
  column->lists = *lists;
  column->count = *count;
  return Status();
}

Status TakeValues(Pieces* pieces, const ColumnType& type, Column* column) {
  uint64_t bytes = 0;
  if (type.values == ColumnType::Values::kTexts) {
    auto texts = pieces->NextOffsets(column->count, type.width, &bytes);
    if (!texts.ok()) return texts.status();
    column->texts = *texts;
  } else if (type.values == ColumnType::Values::kBits) {
    bytes = column->count / 8 + (column->count % 8 != 0);
  } else if (__builtin_mul_overflow(column->count, type.width, &bytes)) {
    return Damaged("a column is too large");
  }
  auto values = pieces->Buffer(bytes);
  if (!values.ok()) return values.status();
  column->values = *values;
  return Status();
}

Result<Column> TakeColumn(Pieces* pieces, const ColumnType& type, size_t rows) {
  auto count = pieces->Count();
  if (!count.ok()) return count.status();
  if (*count != rows) return Damaged("a column has another size than the rows");
  Column column;
  column.rows = column.count = rows;
  if (type.list_width != 0) {
    PERSIA_RETURN_IF_ERROR(TakeLists(pieces, type, &column));
  }
  PERSIA_RETURN_IF_ERROR(TakeValues(pieces, type, &column));
  return column;
}

}  // namespace

Result<std::vector<Column>> ParseRecordBatch(
    ConstBytes message, const std::vector<ColumnType>& types) {
  if (message.size() < kPrefixBytes) return Damaged("it is too short");
  uint32_t prefix[2];
  std::memcpy(prefix, message.data(), kPrefixBytes);
  const auto [mark, size] = prefix;
  const ConstBytes rest = message.subspan(kPrefixBytes);
  if (mark != kMark || size > rest.size()) return Damaged("its head is wrong");
  const FlatTable metadata = FlatTable::Root(rest.subspan(0, size));
  if (metadata.Number<uint8_t>(kHeaderType) != kRecordBatch) {
    return Damaged("it is no record batch");
  }
  const FlatTable batch = metadata.Table(kHeader);
  if (batch.Table(kCompression).exists()) return Damaged("it is compressed");
  const auto rows = static_cast<size_t>(batch.Number<int64_t>(kRows));
  Pieces pieces(batch, rest.subspan(size));
  std::vector<Column> columns;
  for (const ColumnType& type : types) {
    auto column = TakeColumn(&pieces, type, rows);
    if (!column.ok()) return column.status();
    columns.push_back(std::move(*column));
  }
  if (!pieces.empty()) return Damaged("it has too many columns");
  return columns;
}

}  // namespace persia
