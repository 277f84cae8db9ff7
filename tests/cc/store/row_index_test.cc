#include "cc/store/row_index.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <unordered_map>

#include "cc/base/hash.h"
#include "tests/cc/store/chosen_ids.h"
#include "tests/cc/store/row_index_calls.h"

namespace persia {
namespace {

TEST(RowIndexTestItself, UndoesTheHashes) {
  const KnownIndex index;
  for (int64_t id = -1000; id < 1000; ++id) {
    ASSERT_EQ(IdOfHash(index.HashOf(id)), id);
    ASSERT_EQ(IdOfPublishedHash(HashId(id)), id);
  }
}

TEST(RowIndex, IsEmptyAtFirst) {
  const RowIndex index;
  EXPECT_EQ(index.size(), 0u);
  EXPECT_EQ(index.Find(0), RowIndex::kAbsent);
  EXPECT_EQ(FindAll(index, {0, 1}), Rows(2, RowIndex::kAbsent));
  EXPECT_EQ(index.Walk(0, 10, [](int64_t, RowIndex::Row) { FAIL(); }), 0u);
}

TEST(RowIndex, TakesAnyIdThereIs) {
  const Ids ids = {0, -1, 1, std::numeric_limits<int64_t>::min(),
                   std::numeric_limits<int64_t>::max()};
  RowIndex index;
  // The bytes of an empty slot must not look like the entry of an id.
  EXPECT_EQ(FindAll(index, ids), Rows(5, RowIndex::kAbsent));
  for (size_t i = 0; i < ids.size(); ++i) {
    index.Insert(ids[i], static_cast<RowIndex::Row>(i));
  }
  EXPECT_EQ(FindAll(index, ids), (Rows{0, 1, 2, 3, 4}));
  for (size_t i = 0; i < ids.size(); ++i) {
    EXPECT_EQ(index.Erase(ids[i]), i);
    EXPECT_EQ(index.Find(ids[i]), RowIndex::kAbsent);
  }
  EXPECT_EQ(index.size(), 0u);
}

TEST(RowIndex, EraseOfAnAbsentIdChangesNothing) {
  RowIndex index;
  index.Insert(1, 10);
  EXPECT_EQ(index.Erase(2), RowIndex::kAbsent);
  EXPECT_EQ(index.size(), 1u);
  EXPECT_EQ(index.Find(1), 10u);
}

// Random operations, compared with a dictionary. The fuller the index is kept,
// the more ids are away from home.
void ExpectIsADictionary(int operations, size_t ids, uint64_t seed) {
  RowIndex index;
  std::unordered_map<int64_t, RowIndex::Row> expected;
  std::mt19937_64 random(seed);
  for (int i = 0; i < operations; ++i) {
    const auto id = static_cast<int64_t>(random() % ids);
    const auto found = expected.find(id);
    const RowIndex::Row row =
        found == expected.end() ? RowIndex::kAbsent : found->second;
    ASSERT_EQ(index.Find(id), row) << "operation " << i;
    if (random() % 4 == 0) {
      ASSERT_EQ(index.Erase(id), row) << "operation " << i;
      expected.erase(id);
    } else if (row == RowIndex::kAbsent) {
      index.Insert(id, static_cast<RowIndex::Row>(i));
      expected[id] = static_cast<RowIndex::Row>(i);
    }
    ASSERT_EQ(index.size(), expected.size());
  }
  for (size_t id = 0; id < ids; ++id) {
    const auto found = expected.find(static_cast<int64_t>(id));
    ASSERT_EQ(index.Find(static_cast<int64_t>(id)),
              found == expected.end() ? RowIndex::kAbsent : found->second);
  }
}

TEST(RowIndex, IsADictionaryOfAFewIds) { ExpectIsADictionary(200000, 12, 1); }

TEST(RowIndex, IsADictionaryOfHundredsOfIds) {
  ExpectIsADictionary(400000, 800, 2);
}

TEST(RowIndex, IsADictionaryOfAFullSegment) {
  ExpectIsADictionary(400000, 5800, 3);
}

TEST(RowIndex, FindsABatchAsItFindsEach) {
  RowIndex index;
  std::mt19937_64 random(4);
  for (RowIndex::Row id = 0; id < 40000; id += 2) index.Insert(id, id);
  // Sizes around those of its look-ahead.
  for (const size_t size : {0, 1, 23, 24, 25, 47, 48, 49, 1000, 30000}) {
    Ids ids(size);
    for (int64_t& id : ids) id = static_cast<int64_t>(random() % 45000) - 100;
    if (size > 3) ids[size - 1] = ids[0];
    const Rows rows = FindAll(index, ids);
    for (size_t i = 0; i < size; ++i) {
      ASSERT_EQ(rows[i], index.Find(ids[i])) << ids[i];
    }
  }
}

TEST(RowIndex, FindsABatchOfIdsThatAreAllAwayFromHome) {
  KnownIndex index;
  Ids ids;
  for (uint64_t i = 0; i < 3000; ++i) ids.push_back(IdOfHash(i << 20));
  for (size_t i = 0; i < ids.size(); ++i) {
    index.Insert(ids[i], static_cast<RowIndex::Row>(i));
  }
  Rows expected(ids.size());
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(FindAll(index, ids), expected);
}

TEST(RowIndex, KeepsEveryIdWhileItGrows) {
  constexpr RowIndex::Row kIds = 200000;
  RowIndex index;
  for (RowIndex::Row end = 1000; end <= kIds; end += 1000) {
    InsertRange(&index, end - 1000, end);
    Ids sample;
    for (RowIndex::Row id = 0; id < end; id += 97) sample.push_back(id);
    ASSERT_EQ(FindAll(index, sample), Rows(sample.begin(), sample.end()));
  }
  Ids all(kIds);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(FindAll(index, all), Rows(all.begin(), all.end()));
  EXPECT_EQ(index.size(), kIds);
}

TEST(RowIndex, IsNeitherFullNorEmptyWhileItGrows) {
  RowIndex index;
  size_t slots = index.slots();
  for (RowIndex::Row id = 0; id < 200000; ++id) {
    index.Insert(id, id);
    ASSERT_GE(index.slots(), slots);
    slots = index.slots();
    const double load = static_cast<double>(index.size()) / slots;
    ASSERT_LE(load, 0.86);
    if (id >= 100) {
      ASSERT_GE(load, 0.55);
    }
  }
}

// While an index doubles, it is at times fuller than at others: its memory is
// averaged over sizes at equal ratios.
TEST(RowIndex, Takes17BytesPerIdOnAverage) {
  RowIndex index;
  double sum = 0;
  int sizes = 0;
  for (double size = 200000; size < 400000; size *= 1.01) {
    const auto begin = static_cast<RowIndex::Row>(index.size());
    InsertRange(&index, begin, static_cast<RowIndex::Row>(size));
    sum +=
        static_cast<double>(index.bytes()) / static_cast<double>(index.size());
    ++sizes;
  }
  EXPECT_NEAR(sum / sizes, 17, 0.5);
}

TEST(RowIndex, ReusesThePlacesOfErasedIds) {
  RowIndex index;
  InsertRange(&index, 0, 10000);
  const size_t bytes = index.bytes();
  for (RowIndex::Row id = 10000; id < 300000; ++id) {
    ASSERT_EQ(index.Erase(id - 10000), id - 10000);
    index.Insert(id, id);
  }
  EXPECT_LE(index.bytes(), 2 * bytes);
  Ids ids(10000);
  std::iota(ids.begin(), ids.end(), 290000);
  EXPECT_EQ(FindAll(index, ids), Rows(ids.begin(), ids.end()));
}

// Inserts ids whose hashes differ in their lower `free_bits` bits only, and
// expects to find them all.
void ExpectTakesAlikes(int free_bits, uint64_t step, RowIndex::Row count) {
  KnownIndex index;
  Ids ids;
  for (uint64_t i = 0; i < count; ++i) {
    ids.push_back(IdOfHash(0xabcull << 52 | i * step));
    ASSERT_EQ(index.HashOf(ids.back()) >> free_bits,
              0xabcull << 52 >> free_bits);
    index.Insert(ids.back(), static_cast<RowIndex::Row>(i));
  }
  Rows expected(count);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(FindAll(index, ids), expected);
  EXPECT_LE(index.bytes(), (1u << 20) + 100 * count);
  for (RowIndex::Row i = 0; i < count; i += 2)
    ASSERT_EQ(index.Erase(ids[i]), i);
  for (RowIndex::Row i = 0; i < count; i += 2) expected[i] = RowIndex::kAbsent;
  EXPECT_EQ(FindAll(index, ids), expected);
}

TEST(RowIndex, TakesIdsWhoseHashesShareTheirUpperBits) {
  ExpectTakesAlikes(32, 1 << 12, 12000);
}

TEST(RowIndex, TakesIdsWhoseHashesShareTwentyUpperBits) {
  ExpectTakesAlikes(44, uint64_t{1} << 28, 20000);
}

TEST(RowIndex, TakesIdsWhoseHashesShareTheirLowerBits) {
  KnownIndex index;
  Ids ids;
  for (uint64_t i = 0; i < 50000; ++i) ids.push_back(IdOfHash(i << 48 | 7));
  for (size_t i = 0; i < ids.size(); ++i) {
    index.Insert(ids[i], static_cast<RowIndex::Row>(i));
  }
  Rows expected(ids.size());
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(FindAll(index, ids), expected);
}

}  // namespace
}  // namespace persia
