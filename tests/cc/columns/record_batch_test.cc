#include "cc/columns/record_batch.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace persia {
namespace {

// What pyarrow 26 makes of these columns, in hexadecimal digits:
//
//     pa.record_batch(
//         [
//             pa.array([7, -1, 1 << 40]),
//             pa.array([True, False, True]),
//             pa.array(["ab", "", "c"]),
//             pa.array([["x"], [], ["yy", "z"]]),
//         ],
//         names=list("abcd"),
//     ).serialize().hex()
constexpr char kMessage[] =
    "ffffffff6801000014000000000000000c0016000600050008000c000c00000000030400"
    "18000000600000000000000000000a0018000c00040008000a000000dc00000010000000"
    "0300000000000000000000000c0000000000000000000000000000000000000000000000"
    "000000001800000000000000180000000000000000000000000000001800000000000000"
    "010000000000000020000000000000000000000000000000200000000000000010000000"
    "000000003000000000000000030000000000000038000000000000000000000000000000"
    "380000000000000010000000000000004800000000000000000000000000000048000000"
    "000000001000000000000000580000000000000004000000000000000000000005000000"
    "030000000000000000000000000000000300000000000000000000000000000003000000"
    "000000000000000000000000030000000000000000000000000000000300000000000000"
    "00000000000000000700000000000000ffffffffffffffff000000000001000005000000"
    "000000000000000002000000020000000300000061626300000000000000000001000000"
    "0100000003000000000000000100000003000000040000007879797a00000000";

std::vector<uint8_t> Message() {
  const std::string digits = kMessage;
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < digits.size(); i += 2) {
    const std::string byte = digits.substr(i, 2);
    bytes.push_back(static_cast<uint8_t>(std::stoi(byte, nullptr, 16)));
  }
  return bytes;
}

std::vector<ColumnType> Types(const std::vector<std::string>& formats) {
  std::vector<ColumnType> types;
  for (const std::string& format : formats) {
    types.push_back(*ParseColumnType(format));
  }
  return types;
}

std::vector<ColumnType> AllTypes() { return Types({"l", "b", "u", "+lu"}); }

std::string TextOf(const Column& column, size_t i) {
  const auto* const text = reinterpret_cast<const char*>(column.values.data());
  return std::string(text + column.texts[i], text + column.texts[i + 1]);
}

// Reads all that a column refers to, so that a sanitizer sees what is not
// there.
uint64_t SumOf(const Column& column) {
  uint64_t sum = 0;
  for (const uint8_t byte : column.values) sum += byte;
  for (size_t i = 0; i <= column.count; ++i) sum += column.texts[i];
  for (size_t i = 0; i <= column.rows; ++i) sum += column.lists[i];
  return sum;
}

TEST(RecordBatchTest, ColumnsOfEveryKindAreFound) {
  const std::vector<uint8_t> message = Message();
  const auto columns = ParseRecordBatch(message, AllTypes());
  ASSERT_TRUE(columns.ok()) << columns.status().message();
  ASSERT_EQ(columns->size(), 4u);
  const Column& numbers = (*columns)[0];
  EXPECT_EQ(numbers.count, 3u);
  int64_t values[3];
  ASSERT_GE(numbers.values.size(), sizeof(values));
  std::memcpy(values, numbers.values.data(), sizeof(values));
  EXPECT_EQ(values[0], 7);
  EXPECT_EQ(values[1], -1);
  EXPECT_EQ(values[2], int64_t{1} << 40);
  EXPECT_EQ((*columns)[1].values[0] & 7, 0b101);
  EXPECT_EQ(TextOf((*columns)[2], 0), "ab");
  EXPECT_EQ(TextOf((*columns)[2], 1), "");
  EXPECT_EQ(TextOf((*columns)[2], 2), "c");
  const Column& lists = (*columns)[3];
  EXPECT_EQ(lists.rows, 3u);
  EXPECT_EQ(lists.count, 3u);
  EXPECT_EQ(lists.lists[1], 1u);
  EXPECT_EQ(lists.lists[2], 1u);
  EXPECT_EQ(lists.lists[3], 3u);
  EXPECT_EQ(TextOf(lists, 1), "yy");
}

TEST(RecordBatchTest, OtherTypesAreRefused) {
  const std::vector<uint8_t> message = Message();
  for (const auto& formats :
       std::vector<std::vector<std::string>>{{"l", "b", "u"},
                                             {"l", "b", "u", "+lu", "l"},
                                             {"u", "b", "u", "+lu"},
                                             {"l", "l", "u", "+lu"},
                                             {"l", "b", "U", "+lu"},
                                             {"l", "b", "u", "u"}}) {
    const auto columns = ParseRecordBatch(message, Types(formats));
    EXPECT_EQ(columns.status().code(), Code::kDataLoss);
  }
}

TEST(RecordBatchTest, ATruncatedMessageIsRefused) {
  const std::vector<uint8_t> message = Message();
  // The last bytes are padding.
  for (size_t size = 0; size < message.size() - 4; ++size) {
    // A copy of its own, so that a sanitizer sees what is read behind it.
    const std::vector<uint8_t> part(message.begin(), message.begin() + size);
    const auto columns = ParseRecordBatch(part, AllTypes());
    EXPECT_EQ(columns.status().code(), Code::kDataLoss) << size;
  }
}

TEST(RecordBatchTest, ADamagedMessageIsRefusedOrReadWithinItsBounds) {
  const std::vector<uint8_t> message = Message();
  uint64_t sum = 0;
  for (size_t i = 0; i < message.size(); ++i) {
    for (const int change : {1, 0x7F, 0x80, 0xFF}) {
      std::vector<uint8_t> damaged = message;
      damaged[i] = static_cast<uint8_t>(damaged[i] ^ change);
      const auto columns = ParseRecordBatch(damaged, AllTypes());
      if (!columns.ok()) continue;
      for (const Column& column : *columns) sum += SumOf(column);
    }
  }
  EXPECT_GT(sum, 0u);
}

TEST(ColumnTypeTest, FormatsOfOtherTypesAreRefused) {
  for (const char* const format :
       {"", "n", "+s", "+l", "+l+ll", "w:16", "ll"}) {
    const auto type = ParseColumnType(format);
    EXPECT_EQ(type.status().code(), Code::kInvalidArgument) << format;
  }
}

TEST(ColumnTypeTest, OffsetsAreOf32Or64Bits) {
  EXPECT_EQ(ParseColumnType("+LU")->list_width, 8u);
  EXPECT_EQ(ParseColumnType("+LU")->width, 8u);
  EXPECT_EQ(ParseColumnType("+lz")->list_width, 4u);
  EXPECT_EQ(ParseColumnType("+lz")->width, 4u);
  EXPECT_EQ(ParseColumnType("e")->list_width, 0u);
}

}  // namespace
}  // namespace persia
