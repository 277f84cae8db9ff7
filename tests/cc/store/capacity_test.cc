#include "cc/store/capacity.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "cc/base/slots.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

uint64_t RowsOf(const std::string& text, uint32_t slots = kSlots,
                size_t row_bytes = 64) {
  EXPECT_TRUE(CheckCapacity(SpecOf(text)).ok()) << text;
  return CapacityRows(SpecOf(text), slots, row_bytes);
}

TEST(Capacity, UnlimitedIsNoLimit) {
  EXPECT_EQ(RowsOf("unlimited"), kUnlimitedRows);
  EXPECT_EQ(RowsOf("unlimited", 7), kUnlimitedRows);
}

TEST(Capacity, OfRowsIsTheirNumber) {
  EXPECT_EQ(RowsOf("rows(count=1)"), 1u);
  EXPECT_EQ(RowsOf("rows(count=123456789)"), 123456789u);
  EXPECT_EQ(RowsOf("rows(count=1e12)", kSlots, 4096), 1000000000000u);
}

TEST(Capacity, IsSharedBySlots) {
  EXPECT_EQ(RowsOf("rows(count=1000)", kSlots / 4), 250u);
  EXPECT_EQ(RowsOf("bytes(count=4e9)", kSlots / 4), RowsOf("bytes(count=1e9)"));
}

TEST(Capacity, OfAllShardsIsNotExceeded) {
  EXPECT_EQ(RowsOf("rows(count=11)", kSlots / 3), 3u);
}

TEST(Capacity, EachShardHoldsARow) {
  EXPECT_EQ(RowsOf("rows(count=1000)", 0), 1u);
  EXPECT_EQ(RowsOf("rows(count=1)", 100), 1u);
  EXPECT_EQ(RowsOf("bytes(count=1)", 1, 4096), 1u);
}

TEST(Capacity, OfBytesCountsRowsAndIndex) {
  const uint64_t rows = RowsOf("bytes(count=1e9)", kSlots, 64);
  EXPECT_LT(rows, 1000000000u / (64 + sizeof(int64_t) + sizeof(uint32_t)));
  EXPECT_GT(rows, 1000000000u / (64 + 32));
}

TEST(Capacity, OfBytesDependsOnTheRows) {
  EXPECT_LT(RowsOf("bytes(count=1e9)", kSlots, 65), RowsOf("bytes(count=1e9)"));
}

// A capacity, and the whole error message that it gives.
using BadCapacity = std::pair<const char*, const char*>;
class CheckCapacityRefuses : public ::testing::TestWithParam<BadCapacity> {};

TEST_P(CheckCapacityRefuses, SayingParameterRuleAndValue) {
  const auto [text, message] = GetParam();
  const Status status = CheckCapacity(SpecOf(text));
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
  EXPECT_EQ(status.message(), message);
}

INSTANTIATE_TEST_SUITE_P(
    BadCapacities, CheckCapacityRefuses,
    ::testing::Values(
        BadCapacity("ids(count=1)",
                    "capacity must be unlimited, rows or bytes, received "
                    "\"ids\""),
        BadCapacity("unlimited(count=1)",
                    "capacity unlimited has no parameter count; it has none"),
        BadCapacity("rows(size=1)",
                    "capacity rows has no parameter size; it has count"),
        BadCapacity("rows(count=0)",
                    "capacity rows: count must be a whole number from 1 to "
                    "1e+18, received 0"),
        BadCapacity("bytes(count=-5)",
                    "capacity bytes: count must be a whole number from 1 to "
                    "1e+18, received -5"),
        BadCapacity("rows(count=2.5)",
                    "capacity rows: count must be a whole number from 1 to "
                    "1e+18, received 2.5")));

}  // namespace
}  // namespace persia
