#include "cc/columns/batch_columns.h"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace persia {
namespace {

std::vector<ColumnType> Types(const std::vector<std::string>& formats) {
  std::vector<ColumnType> types;
  for (const std::string& format : formats) {
    types.push_back(*ParseColumnType(format));
  }
  return types;
}

std::string TextOf(const BatchColumn& column, size_t i) {
  const auto* const text = reinterpret_cast<const char*>(column.values);
  return std::string(text + column.texts[i], text + column.texts[i + 1]);
}

int64_t NumberOf(const BatchColumn& column, size_t i) {
  int64_t number;
  std::memcpy(&number, column.values + i * sizeof(number), sizeof(number));
  return number;
}

// An array that owns nothing.
struct Array : ArrowArray {
  Array(int64_t count, int64_t begin, std::vector<const void*> made)
      : ArrowArray{}, all(std::move(made)) {
    length = count;
    offset = begin;
    n_buffers = static_cast<int64_t>(all.size());
    buffers = all.data();
  }

  void SetChildren(const std::vector<ArrowArray*>& made) {
    inner = made;
    n_children = static_cast<int64_t>(inner.size());
    children = inner.data();
  }

  std::vector<const void*> all;
  std::vector<ArrowArray*> inner;
};

// Rows 1 to 3 of four, of a column of each kind: 7, -1, 2^40; true, false,
// true; "ab", "", "c"; and lists of strings: ["x"], [], ["yy", "z"].
class BatchColumnsTest : public testing::Test {
 protected:
  BatchColumnsTest() {
    lists_.SetChildren({&words_});
    batch_.SetChildren({&numbers_, &bits_, &texts_, &lists_});
  }

  Code FailsWith(const std::vector<std::string>& formats) {
    return ColumnsOf(batch_, 0, batch_.length, Types(formats)).status().code();
  }

  const std::vector<std::string> formats_{"l", "b", "u", "+Lu"};

  const std::vector<int64_t> int64s_{99, 7, -1, int64_t{1} << 40};
  const std::vector<uint8_t> booleans_{0b10100};
  const std::vector<int32_t> ends_{0, 3, 5, 5, 6};
  const std::string characters_ = "---abc";
  const std::vector<int64_t> list_ends_{0, 1, 2, 2, 4};
  const std::vector<int32_t> word_ends_{0, 3, 4, 5, 7, 8};
  const std::string word_characters_ = "###0xyyz";
  // The offset of the batch is 1. That of bits is one more, and so that of
  // words, of which the first list, which is left out, has one.
  Array numbers_{4, 0, {nullptr, int64s_.data()}};
  Array bits_{4, 1, {nullptr, booleans_.data()}};
  Array texts_{4, 0, {nullptr, ends_.data(), characters_.data()}};
  Array words_{4, 1, {nullptr, word_ends_.data(), word_characters_.data()}};
  Array lists_{4, 0, {nullptr, list_ends_.data()}};
  Array batch_{3, 1, {nullptr}};
};

TEST_F(BatchColumnsTest, ColumnsOfEveryKindAreFound) {
  const auto columns = ColumnsOf(batch_, 0, batch_.length, Types(formats_));
  ASSERT_TRUE(columns.ok()) << columns.status().message();
  ASSERT_EQ(columns->size(), 4u);
  const BatchColumn& numbers = (*columns)[0];
  EXPECT_EQ(numbers.count, 3u);
  EXPECT_EQ(NumberOf(numbers, 0), 7);
  EXPECT_EQ(NumberOf(numbers, 2), int64_t{1} << 40);
  EXPECT_TRUE((*columns)[1].bits[0]);
  EXPECT_FALSE((*columns)[1].bits[1]);
  EXPECT_TRUE((*columns)[1].bits[2]);
  EXPECT_EQ(TextOf((*columns)[2], 0), "ab");
  EXPECT_EQ(TextOf((*columns)[2], 1), "");
  EXPECT_EQ(TextOf((*columns)[2], 2), "c");
  const BatchColumn& lists = (*columns)[3];
  EXPECT_EQ(lists.rows, 3u);
  EXPECT_EQ(lists.count, 3u);
  EXPECT_EQ(lists.lists[1] - lists.lists[0], 1u);
  EXPECT_EQ(lists.lists[2] - lists.lists[0], 1u);
  EXPECT_EQ(lists.lists[3] - lists.lists[0], 3u);
  EXPECT_EQ(TextOf(lists, 0), "x");
  EXPECT_EQ(TextOf(lists, 1), "yy");
  EXPECT_EQ(TextOf(lists, 2), "z");
}

TEST_F(BatchColumnsTest, SomeRowsAreFound) {
  const auto columns = ColumnsOf(batch_, 2, 1, Types(formats_));
  ASSERT_TRUE(columns.ok()) << columns.status().message();
  EXPECT_EQ((*columns)[0].count, 1u);
  EXPECT_EQ(NumberOf((*columns)[0], 0), int64_t{1} << 40);
  EXPECT_TRUE((*columns)[1].bits[0]);
  EXPECT_EQ(TextOf((*columns)[2], 0), "c");
  EXPECT_EQ((*columns)[3].rows, 1u);
  EXPECT_EQ((*columns)[3].count, 2u);
  EXPECT_EQ(TextOf((*columns)[3], 1), "z");
}

TEST_F(BatchColumnsTest, RowsThatABatchHasNotAreRefused) {
  const int64_t most = std::numeric_limits<int64_t>::max();
  for (const auto& [first, rows] : std::vector<std::pair<int64_t, int64_t>>{
           {-1, 1}, {0, -1}, {0, 4}, {3, 1}, {most, 1}, {1, most}}) {
    const auto columns = ColumnsOf(batch_, first, rows, Types(formats_));
    EXPECT_EQ(columns.status().code(), Code::kInvalidArgument) << first;
  }
}

TEST_F(BatchColumnsTest, AnEmptyBatchNeedsNoBuffers) {
  batch_.length = batch_.offset = 0;
  numbers_.all[1] = bits_.all[1] = texts_.all[1] = texts_.all[2] = nullptr;
  lists_.all[1] = nullptr;
  bits_.offset = words_.offset = 0;
  const auto columns = ColumnsOf(batch_, 0, batch_.length, Types(formats_));
  ASSERT_TRUE(columns.ok());
  for (const BatchColumn& column : *columns) {
    EXPECT_EQ(column.count, 0u);
    EXPECT_EQ(column.texts[0], 0u);
    EXPECT_EQ(column.lists[0], 0u);
  }
}

TEST_F(BatchColumnsTest, OtherColumnsAreRefused) {
  for (const auto& formats :
       std::vector<std::vector<std::string>>{{"l", "b", "u"},
                                             {"l", "b", "u", "+Lu", "l"},
                                             {"u", "b", "u", "+Lu"},
                                             {"l", "b", "l", "+Lu"},
                                             {"l", "b", "u", "u"},
                                             {"l", "b", "u", "+Ll"}}) {
    EXPECT_EQ(FailsWith(formats), Code::kInvalidArgument);
  }
}

TEST_F(BatchColumnsTest, AValueThatIsMissingIsRefused) {
  const uint8_t only_first_missing = 0b11110;
  const uint8_t one_missing = 0b11011;
  numbers_.all[0] = &only_first_missing;
  numbers_.null_count = -1;  // It is not known, as after a slice.
  EXPECT_TRUE(ColumnsOf(batch_, 0, batch_.length, Types(formats_)).ok());
  numbers_.all[0] = &one_missing;
  EXPECT_EQ(FailsWith(formats_), Code::kInvalidArgument);
  numbers_.all[0] = nullptr;
  words_.all[0] = &one_missing;
  words_.null_count = 1;
  EXPECT_EQ(FailsWith(formats_), Code::kInvalidArgument);
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
