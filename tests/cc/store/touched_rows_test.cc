// Which rows of a sub-shard a follower has not been told of yet.

#include "cc/store/touched_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace persia {
namespace {

using Ids = std::vector<int64_t>;

Ids TakeSorted(TouchedRows* touched, size_t count = 1000000) {
  Ids ids;
  touched->Take(count, &ids);
  std::sort(ids.begin(), ids.end());
  return ids;
}

TEST(TouchedRows, HasARowThatIsTouchedOftenOnce) {
  const RowIndex index;
  TouchedRows touched(&index);
  for (int i = 0; i < 3; ++i) touched.Touch(7, 0);
  const Ids ids = {7, 8, 9};
  const std::vector<RowIndex::Row> rows = {0, RowIndex::kAbsent, 2};
  touched.TouchAll(ids, rows.data());
  EXPECT_TRUE(touched.any());
  EXPECT_EQ(TakeSorted(&touched), (Ids{7, 9}));
  EXPECT_FALSE(touched.any());
}

TEST(TouchedRows, ATouchAfterItIsToldIsNotedAgain) {
  const RowIndex index;
  TouchedRows touched(&index);
  touched.Touch(7, 0);
  TakeSorted(&touched);
  touched.Touch(7, 0);  // The first is not settled.
  EXPECT_FALSE(touched.any());
  EXPECT_TRUE(touched.Settle(0));
  EXPECT_FALSE(touched.Settle(0));
  touched.Touch(7, 0);
  EXPECT_EQ(TakeSorted(&touched), Ids{7});
}

TEST(TouchedRows, ANumberThatAnotherIdGetsIsNotedAgain) {
  const RowIndex index;
  TouchedRows touched(&index);
  touched.Touch(7, 0);
  touched.Erase(7, 0);
  touched.Touch(8, 0);
  const Ids ids = TakeSorted(&touched);
  EXPECT_TRUE(std::count(ids.begin(), ids.end(), 7) > 0);
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 8), 1);
  EXPECT_TRUE(touched.Settle(0));
}

TEST(TouchedRows, WhatIsTouchedAllTheTimeKeepsNothingWaiting) {
  const RowIndex index;
  TouchedRows touched(&index);
  for (int64_t id = 0; id < 100; ++id) {
    touched.Touch(id, static_cast<RowIndex::Row>(id));
  }
  Ids seen;
  for (int round = 0; round < 20; ++round) {
    Ids ids;
    touched.Take(10, &ids);
    for (const int64_t id : ids) {
      touched.Settle(static_cast<RowIndex::Row>(id));
      seen.push_back(id);
    }
    for (int64_t id = 50; id < 60; ++id) {
      touched.Touch(id, static_cast<RowIndex::Row>(id));
    }
  }
  std::sort(seen.begin(), seen.end());
  seen.erase(std::unique(seen.begin(), seen.end()), seen.end());
  EXPECT_EQ(seen.size(), 100u);
}

TEST(TouchedRows, MoreIdsThanRowsAreWorthAreLost) {
  const RowIndex index;
  TouchedRows touched(&index);
  for (int64_t id = 0; id < 100000; ++id) touched.Erase(id, 0);
  EXPECT_TRUE(touched.lost());
  EXPECT_FALSE(touched.any());
  touched.Touch(1, 1);
  EXPECT_FALSE(touched.any());
  EXPECT_LT(touched.bytes(), 1000u);
}

TEST(TouchedRows, AFewIdsThatComeAndGoOftenAreNotLost) {
  const RowIndex index;
  TouchedRows touched(&index);
  for (int64_t i = 0; i < 1000000; ++i) {
    touched.Touch(i % 100, 0);
    touched.Erase(i % 100, 0);
  }
  EXPECT_FALSE(touched.lost());
  EXPECT_LT(touched.bytes(), 100000u);
}

}  // namespace
}  // namespace persia
