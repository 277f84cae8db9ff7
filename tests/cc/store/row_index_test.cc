#include "cc/store/row_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <unordered_map>
#include <vector>

#include "cc/base/hash.h"

namespace persia {
namespace {

using Ids = std::vector<int64_t>;
using Rows = std::vector<RowIndex::Row>;

uint64_t UndoShift(uint64_t x, int shift) {
  uint64_t undone = x;
  for (int known = shift; known < 64; known += shift) {
    undone = x ^ (undone >> shift);
  }
  return undone;
}

// The odd number's inverse modulo 2^64, by Newton's iteration.
uint64_t Inverse(uint64_t odd) {
  uint64_t inverse = odd;
  for (int bits = 3; bits < 64; bits *= 2) inverse *= 2 - odd * inverse;
  return inverse;
}

// By this key hashes are a bijection that is known.
const KeyedHash kKnown(KeyedHash::Key{1, 0, 0, 0});

class KnownIndex : public RowIndex {
 public:
  KnownIndex() : RowIndex(nullptr, AtLimit::kThrow, kKnown) {}
};

// The id of a hash by the known key.
int64_t IdOfHash(uint64_t hash) {
  return static_cast<int64_t>(
      UndoShift(UndoShift(hash, 32) * Inverse(0x9e3779b97f4a7c15ull), 32));
}

// The id of a hash that everybody knows: HashId is a bijection too.
int64_t IdOfPublishedHash(uint64_t hash) {
  uint64_t x = UndoShift(hash, 31) * Inverse(0x94d049bb133111ebull);
  x = UndoShift(x, 27) * Inverse(0xbf58476d1ce4e5b9ull);
  x = UndoShift(x, 30) - 0x9e3779b97f4a7c15ull;
  return static_cast<int64_t>(x);
}

Rows FindAll(const RowIndex& index, const Ids& ids) {
  Rows rows(ids.size(), 12345);
  index.Find(ids, rows.data());
  return rows;
}

// Ids 0 to `count` - 1, of which each is its own row.
void InsertRange(RowIndex* index, RowIndex::Row begin, RowIndex::Row end) {
  for (RowIndex::Row id = begin; id < end; ++id) index->Insert(id, id);
}

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
  // What an empty slot looks like must be no id's.
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

// Random operations against a dictionary. The fuller the index is kept, the
// more ids are away from home.
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
      ASSERT_GE(load, 0.3);
    }
  }
}

TEST(RowIndex, TakesAFewTensOfBytesAnId) {
  RowIndex index;
  InsertRange(&index, 0, 200000);
  EXPECT_GE(index.bytes(), 200000u * (sizeof(int64_t) + sizeof(uint32_t)));
  EXPECT_LE(index.bytes(), 200000u * 40);
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

// No more than a hash's lower `free_bits` bits tell these ids apart.
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

// How often a walk in pages of `page` visits each id; `between` is called
// after each page.
template <typename Between>
std::unordered_map<int64_t, int> Visits(const RowIndex& index, size_t page,
                                        const Between& between) {
  std::unordered_map<int64_t, int> visits;
  uint64_t hash = 0;
  do {
    hash = index.Walk(hash, page,
                      [&](int64_t id, RowIndex::Row) { ++visits[id]; });
    between();
  } while (hash != 0);
  return visits;
}

// Fails unless each of ids 0 to `count` - 1 was visited once.
void ExpectOnceEach(const std::unordered_map<int64_t, int>& visits,
                    int64_t count) {
  for (int64_t id = 0; id < count; ++id) {
    const auto found = visits.find(id);
    ASSERT_NE(found, visits.end()) << id;
    ASSERT_EQ(found->second, 1) << id;
  }
}

TEST(RowIndexWalk, VisitsEachIdOnce) {
  for (const RowIndex::Row count : {1u, 4u, 5u, 100u, 4352u, 50000u}) {
    RowIndex index;
    InsertRange(&index, 0, count);
    for (const size_t page : {1, 7, 1000, 1000000}) {
      const auto visits = Visits(index, page, [] {});
      EXPECT_EQ(visits.size(), count);
      ExpectOnceEach(visits, count);
    }
  }
}

TEST(RowIndexWalk, GivesEachIdsRow) {
  RowIndex index;
  for (RowIndex::Row id = 0; id < 1000; ++id) index.Insert(id, 2 * id);
  index.Walk(0, 1000, [](int64_t id, RowIndex::Row row) {
    EXPECT_EQ(row, 2 * static_cast<RowIndex::Row>(id));
  });
}

TEST(RowIndexWalk, StopsSoonAfterAsManyAsAsked) {
  RowIndex index;
  InsertRange(&index, 0, 50000);
  uint64_t hash = 0;
  do {
    size_t visited = 0;
    hash = index.Walk(hash, 100, [&](int64_t, RowIndex::Row) { ++visited; });
    if (hash != 0) {
      ASSERT_GE(visited, 100u);
    }
    ASSERT_LE(visited, 130u);
  } while (hash != 0);
}

TEST(RowIndexWalk, GoesByTheHash) {
  RowIndex index;
  InsertRange(&index, 0, 30000);
  uint64_t begin = 0;
  do {
    uint64_t least = ~uint64_t{0}, most = 0;
    const uint64_t end = index.Walk(begin, 50, [&](int64_t id, RowIndex::Row) {
      least = std::min(least, index.HashOf(id));
      most = std::max(most, index.HashOf(id));
    });
    ASSERT_GE(least, begin);
    ASSERT_LT(most, end - 1);
    begin = end;
  } while (begin != 0);
}

TEST(RowIndexWalk, VisitsOnceWhatStaysWhileTheIndexGrows) {
  RowIndex index;
  InsertRange(&index, 0, 3000);
  RowIndex::Row next = 3000;
  const auto visits = Visits(index, 20, [&] {
    if (next >= 100000) return;
    InsertRange(&index, next, next + 500);
    next += 500;
  });
  EXPECT_GE(next, 100000u);
  ExpectOnceEach(visits, 3000);
  for (const auto& [id, times] : visits) ASSERT_EQ(times, 1) << id;
}

TEST(RowIndexWalk, VisitsOnceWhatStaysWhileOthersComeAndGo) {
  RowIndex index;
  InsertRange(&index, 0, 10000);
  std::mt19937_64 random(6);
  const auto visits = Visits(index, 30, [&] {
    // Full buckets and gaps move about ids 0 to 4999, which stay.
    for (int i = 0; i < 200; ++i) {
      const auto id = static_cast<int64_t>(5000 + random() % 8000);
      if (index.Erase(id) == RowIndex::kAbsent) index.Insert(id, 1);
    }
  });
  ExpectOnceEach(visits, 5000);
}

TEST(RowIndexWalk, VisitsOnceIdsThatAreAwayFromHome) {
  KnownIndex index;
  std::unordered_map<int64_t, int> expected;
  for (uint64_t i = 0; i < 3000; ++i) {
    // Some at the end of a segment, from where they go on at its beginning.
    const uint64_t upper = i % 2 == 0 ? ~uint64_t{0} << 30 : 0;
    const int64_t id = IdOfHash(upper | i << 10);
    index.Insert(id, 1);
    expected[id] = 1;
  }
  EXPECT_EQ(Visits(index, 1, [] {}), expected);
}

uint32_t MostBucketsToFind(const RowIndex& index, const Ids& ids) {
  uint32_t most = 0;
  for (const int64_t id : ids) most = std::max(most, index.BucketsToFind(id));
  return most;
}

void InsertAll(RowIndex* index, const Ids& ids) {
  for (const int64_t id : ids)
    index->Insert(id, static_cast<RowIndex::Row>(id));
}

// Ids whose hashes differ in their lower `bits` alone.
template <typename IdOf>
Ids IdsAlike(size_t count, int bits, const IdOf& id_of) {
  Ids ids;
  for (uint64_t i = 0; i < count; ++i) {
    ids.push_back(id_of(0xabcull << 52 | i << bits));
  }
  return ids;
}

// What chance brings about in an index that is as full as one may be.
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

// By somebody who knows the key.
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

// Of hashes in an eighth of a segment's homes, until it splits.
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

// Ids of four homes come and go, so that most pass many on.
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
