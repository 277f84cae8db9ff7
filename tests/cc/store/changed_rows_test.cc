#include "cc/store/changed_rows.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace persia {
namespace {

std::vector<int64_t> ErasedOf(const ChangedRows& changes) {
  std::vector<int64_t> ids;
  changes.AppendErased(&ids);
  std::sort(ids.begin(), ids.end());
  return ids;
}

using Ids = std::vector<int64_t>;

TEST(ChangedRows, HasWhatWasMarkedAndNothingElse) {
  ChangedRows changes;
  for (const uint32_t row : {0u, 63u, 64u, 100000u}) {
    EXPECT_FALSE(changes.Has(row));
    changes.Mark(row);
    EXPECT_TRUE(changes.Has(row));
  }
  for (const uint32_t row : {1u, 62u, 65u, 99999u, 100001u, 4000000u}) {
    EXPECT_FALSE(changes.Has(row)) << row;
  }
  EXPECT_EQ(changes.rows(), 4u);
}

TEST(ChangedRows, AnIdThatIsMadeAgainIsNotErased) {
  ChangedRows changes;
  changes.MarkErased(5);
  changes.MarkErased(6);
  changes.MarkErased(6);
  EXPECT_EQ(ErasedOf(changes), (Ids{5, 6}));
  changes.MarkCreated(5, 3);
  EXPECT_EQ(ErasedOf(changes), Ids{6});
  EXPECT_TRUE(changes.Has(3));
}

TEST(ChangedRows, AMergeHasBoth) {
  ChangedRows earlier;
  earlier.Mark(1);
  earlier.Mark(1000);
  earlier.MarkErased(7);
  earlier.MarkErased(8);
  earlier.MarkErased(9);
  ChangedRows changes;
  changes.Mark(2);
  changes.MarkCreated(7, 3);
  changes.MarkErased(9);
  RowIndex index;
  index.Insert(7, 3);
  changes.Merge(earlier, index);
  for (const uint32_t row : {1u, 2u, 3u, 1000u}) EXPECT_TRUE(changes.Has(row));
  EXPECT_EQ(changes.rows(), 4u);
  EXPECT_EQ(ErasedOf(changes), (Ids{8, 9}));
}

TEST(ChangedRows, MemoryIsABitARow) {
  ChangedRows changes;
  for (uint32_t row = 0; row < 1 << 20; ++row) changes.Mark(row);
  EXPECT_GE(changes.bytes(), size_t{1} << 17);
  EXPECT_LE(changes.bytes(), size_t{1} << 18);
}

}  // namespace
}  // namespace persia
