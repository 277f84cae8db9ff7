// Ids that are far from their homes, by chance or by an attacker's choice.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <unordered_map>

#include "cc/base/hash.h"
#include "cc/store/row_index.h"
#include "tests/cc/store/chosen_ids.h"
#include "tests/cc/store/row_index_calls.h"

namespace persia {
namespace {

uint32_t MostBucketsToFind(const RowIndex& index, const Ids& ids) {
  uint32_t most = 0;
  for (const int64_t id : ids) most = std::max(most, index.BucketsToFind(id));
  return most;
}

void InsertAll(RowIndex* index, const Ids& ids) {
  for (const int64_t id : ids)
    index->Insert(id, static_cast<RowIndex::Row>(id));
}

// Ids whose hashes have the same upper bits, and whose lower `bits` bits are 0.
template <typename IdOf>
Ids IdsAlike(size_t count, int bits, const IdOf& id_of) {
  Ids ids;
  for (uint64_t i = 0; i < count; ++i) {
    ids.push_back(id_of(0xabcull << 52 | i << bits));
  }
  return ids;
}

// No id is further from home than random ids are in an index as full as it may
// be.
TEST(RowIndexChosenIds, AreAsNearTheirHomesAsOthers) {
  RowIndex index;
  const Ids ids = IdsAlike(20000, 16, IdOfPublishedHash);
  InsertAll(&index, ids);
  EXPECT_LE(MostBucketsToFind(index, ids), RowIndex::kMostBuckets);
  EXPECT_EQ(index.spilled(), 0u);
}

TEST(RowIndexChosenIds, NoneOfAMillionOthersIsSpilled) {
  RowIndex index;
  std::mt19937_64 random(7);
  for (RowIndex::Row i = 0; i < 1000000; ++i) {
    index.Insert(static_cast<int64_t>(random()), i);
  }
  EXPECT_EQ(index.spilled(), 0u);
}

TEST(RowIndexChosenIds, HaveADifferentOrderInEachIndex) {
  const RowIndex a, b;
  int alike = 0;
  for (int64_t id = 0; id < 1000; ++id) {
    alike += a.HashOf(id) >> 56 == b.HashOf(id) >> 56;
  }
  EXPECT_LT(alike, 50);
}

// Ids chosen by an attacker who knows the key.
class RowIndexSpillTest : public ::testing::Test {
 protected:
  RowIndexSpillTest() : ids_(IdsAlike(20000, 16, IdOfHash)) {}

  void Insert() {
    for (size_t i = 0; i < ids_.size(); ++i) {
      index_.Insert(ids_[i], static_cast<RowIndex::Row>(i));
    }
  }

  KnownIndex index_;
  Ids ids_;
};

TEST_F(RowIndexSpillTest, ASearchIsBounded) {
  Insert();
  EXPECT_GT(index_.spilled(), 10000u);
  EXPECT_LE(MostBucketsToFind(index_, ids_), RowIndex::kMostBuckets);
  EXPECT_LE(index_.BucketsToFind(IdOfHash(0xabcull << 52 | 0x12345)),
            RowIndex::kMostBuckets);
}

TEST_F(RowIndexSpillTest, AllAreFoundAndErased) {
  Insert();
  Rows expected(ids_.size());
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(FindAll(index_, ids_), expected);
  RowIndex::Row* const last = index_.FindMutable(ids_.back());
  ASSERT_NE(last, nullptr);
  *last = 7;
  EXPECT_EQ(index_.Find(ids_.back()), 7u);
  ids_.pop_back();
  for (size_t i = 0; i < ids_.size(); ++i) {
    ASSERT_EQ(index_.Erase(ids_[i]), i);
    ASSERT_EQ(index_.Erase(ids_[i]), RowIndex::kAbsent);
  }
  EXPECT_EQ(index_.size(), 1u);
}

TEST_F(RowIndexSpillTest, AWalkVisitsEachOnce) {
  Insert();
  InsertRange(&index_, 0, 3000);
  const auto visits = Visits(index_, 1, [] {});
  EXPECT_EQ(visits.size(), ids_.size() + 3000);
  for (const auto& [id, times] : visits) ASSERT_EQ(times, 1) << id;
}

TEST_F(RowIndexSpillTest, MemoryIsCountedAndGivenBack) {
  MemoryMeter meter;
  {
    RowIndex index(&meter, RowIndex::AtLimit::kThrow, kKnown);
    InsertAll(&index, ids_);
    EXPECT_GT(meter.used(), 10000u * 64);
    for (const int64_t id : ids_) index.Erase(id);
    EXPECT_EQ(index.spilled(), 0u);
  }
  EXPECT_EQ(meter.used(), 0u);
}

// The hashes are in an eighth of a segment's homes, until the segment splits.
TEST(RowIndexSpill, RoomIsFoundAsTheIndexGrows) {
  KnownIndex index;
  Ids ids;
  for (uint64_t i = 0; i < 4000; ++i) ids.push_back(IdOfHash(i << 47));
  InsertAll(&index, ids);
  const size_t spilled = index.spilled();
  EXPECT_GT(spilled, 0u);
  for (uint64_t i = 0; i < 100000; ++i) {
    index.Insert(IdOfHash(Mix64(i)), 1);
  }
  EXPECT_LT(index.spilled(), spilled / 2);
  for (const int64_t id : ids) {
    ASSERT_EQ(index.Find(id), static_cast<RowIndex::Row>(id));
  }
}

// Ids of four homes come and go, so that most buckets pass many ids on.
TEST(RowIndexSpill, IsADictionaryOfIdsOfAFewHomes) {
  KnownIndex index;
  std::unordered_map<int64_t, RowIndex::Row> expected;
  std::mt19937_64 random(8);
  for (RowIndex::Row i = 0; i < 100000; ++i) {
    const uint64_t hash = random() % 4 << 53 | random() % 2000;
    const int64_t id = IdOfHash(hash);
    const auto found = expected.find(id);
    const RowIndex::Row row =
        found == expected.end() ? RowIndex::kAbsent : found->second;
    ASSERT_EQ(index.Find(id), row) << i;
    if (row == RowIndex::kAbsent) {
      index.Insert(id, i);
      expected[id] = i;
    } else {
      ASSERT_EQ(index.Erase(id), row) << i;
      expected.erase(id);
    }
  }
  EXPECT_GT(index.spilled(), 0u);
  EXPECT_EQ(index.size(), expected.size());
  const auto visits = Visits(index, 50, [] {});
  EXPECT_EQ(visits.size(), expected.size());
  for (const auto& [id, times] : visits) ASSERT_EQ(times, 1) << id;
}

}  // namespace
}  // namespace persia
