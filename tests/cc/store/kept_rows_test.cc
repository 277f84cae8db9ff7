#include "cc/store/kept_rows.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

namespace persia {
namespace {

constexpr size_t kRowBytes = 8;

using Taken = std::map<int64_t, uint64_t>;

const RowIndex kIndex;

void Keep(int64_t id, KeptRows::Row row, uint64_t value, KeptRows* kept) {
  std::byte bytes[kRowBytes];
  std::memcpy(bytes, &value, kRowBytes);
  if (kept->MustAdd(id, row)) kept->Add(id, bytes);
}

Taken TakeAll(KeptRows* kept) {
  Taken taken;
  const auto take = [&taken](int64_t id, const std::byte* row) {
    uint64_t value = 0;
    std::memcpy(&value, row, kRowBytes);
    EXPECT_TRUE(taken.emplace(id, value).second) << id;
  };
  while (kept->TakeSome(take)) {
  }
  return taken;
}

TEST(KeptRows, GivesEachAsItWasFirst) {
  KeptRows kept(&kIndex, kRowBytes);
  Taken expected;
  for (int64_t id = 0; id < 1000; ++id) {
    const auto row = static_cast<KeptRows::Row>(id);
    Keep(id, row, 10 * static_cast<uint64_t>(id), &kept);
    Keep(id, row, 7, &kept);
    expected[id] = 10 * static_cast<uint64_t>(id);
    EXPECT_TRUE(kept.Has(row));
  }
  EXPECT_EQ(TakeAll(&kept), expected);
  Keep(5, 5, 8, &kept);
  EXPECT_TRUE(TakeAll(&kept).empty());
}

TEST(KeptRows, NewRowsAreLeftOutAndNotGiven) {
  KeptRows kept(&kIndex, kRowBytes);
  kept.NoteNew(3, 4);
  Keep(3, 4, 1, &kept);
  EXPECT_TRUE(kept.Has(4));
  EXPECT_FALSE(kept.Has(3));
  EXPECT_TRUE(TakeAll(&kept).empty());
}

TEST(KeptRows, WhatWasReadIsNotKept) {
  KeptRows kept(&kIndex, kRowBytes);
  const uint64_t hash = kIndex.HashOf(1);
  kept.ReadTo(hash + 1);
  Keep(1, 0, 5, &kept);
  EXPECT_TRUE(TakeAll(&kept).empty());
  kept.ReadTo(0);
  EXPECT_TRUE(kept.ended());
  Keep(2, 1, 5, &kept);
  EXPECT_TRUE(TakeAll(&kept).empty());
}

// What is given at once goes to one block of a file.
TEST(KeptRows, GivesLongRowsOneByOne) {
  const std::vector<std::byte> row(size_t{768} << 10);
  KeptRows kept(&kIndex, row.size());
  for (int64_t id = 0; id < 3; ++id) {
    ASSERT_TRUE(kept.MustAdd(id, static_cast<KeptRows::Row>(id)));
    kept.Add(id, row.data());
  }
  for (int64_t id = 0; id < 3; ++id) {
    size_t given = 0;
    EXPECT_TRUE(kept.TakeSome([&](int64_t, const std::byte*) { ++given; }));
    EXPECT_EQ(given, 1U);
  }
  EXPECT_TRUE(TakeAll(&kept).empty());
}

TEST(KeptRows, AnUpdateThatBreaksOffFailsIt) {
  KeptRows kept(&kIndex, kRowBytes);
  kept.BeginUpdate();
  kept.Expect(0, 1, 2);
  EXPECT_TRUE(kept.failed());
  kept.BeginUpdate();
  kept.EndUpdate();
  EXPECT_TRUE(kept.failed());
}

TEST(KeptRows, AnUpdateAddsWhatItExpectsAsItComesToIt) {
  KeptRows kept(&kIndex, kRowBytes);
  const std::vector<int64_t> ids = {4, 5, 6, 7};
  std::vector<uint64_t> values = {40, 50, 60, 70};
  std::vector<std::byte*> rows;
  for (uint64_t& value : values) {
    rows.push_back(reinterpret_cast<std::byte*>(&value));
  }
  kept.BeginUpdate();
  for (const uint32_t place : {0, 2, 3}) {
    kept.Expect(place, ids[place], place);
  }
  for (size_t end = 1; end <= ids.size(); ++end) {
    kept.AddExpected(ids, rows.data(), end);
    values[end - 1] = 0;
  }
  kept.EndUpdate();
  EXPECT_EQ(TakeAll(&kept), (Taken{{4, 40}, {6, 60}, {7, 70}}));
  EXPECT_FALSE(kept.failed());
}

TEST(KeptRows, MemoryIsCountedAndGivenBack) {
  MemoryMeter meter;
  {
    KeptRows kept(&kIndex, kRowBytes, &meter);
    for (int64_t id = 0; id < 1000; ++id) {
      Keep(id, static_cast<KeptRows::Row>(id), 1, &kept);
    }
    const uint64_t most = meter.used();
    EXPECT_GE(most, 1000 * (kRowBytes + sizeof(int64_t)));
    TakeAll(&kept);
    EXPECT_LT(meter.used(), most / 10);
  }
  EXPECT_EQ(meter.used(), 0U);
}

}  // namespace
}  // namespace persia
