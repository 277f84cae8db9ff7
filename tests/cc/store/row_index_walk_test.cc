// A walk of a row index visits each id once, whatever comes and goes meanwhile.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <unordered_map>

#include "cc/store/row_index.h"
#include "tests/cc/store/chosen_ids.h"
#include "tests/cc/store/row_index_calls.h"

namespace persia {
namespace {

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
    ASSERT_EQ(end % RowIndex::kWalkStep, 0u);
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
    // These changes move ids 0 to 4999, which stay in the index, between
    // buckets.
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
    // Some ids have homes at the end of a segment, so they spill over to its
    // beginning.
    const uint64_t upper = i % 2 == 0 ? ~uint64_t{0} << 30 : 0;
    const int64_t id = IdOfHash(upper | i << 10);
    index.Insert(id, 1);
    expected[id] = 1;
  }
  EXPECT_EQ(Visits(index, 1, [] {}), expected);
}

}  // namespace
}  // namespace persia
