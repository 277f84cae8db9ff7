#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "cc/store/eviction.h"
#include "tests/cc/store/make_config.h"
#include "tests/cc/store/table_calls.h"

namespace persia {
namespace {

TableConfig EvictingConfig(const std::string& capacity,
                           const std::string& eviction) {
  TableConfig config = MakeConfig("t", 2, "uniform", "sgd");
  config.capacity = SpecOf(capacity);
  config.eviction = SpecOf(eviction);
  config.default_value = 9.0f;
  return config;
}

std::shared_ptr<Table> EvictingTable(const std::string& capacity,
                                     const std::string& eviction) {
  return TableOf(EvictingConfig(capacity, eviction));
}

// The rows that an exact policy keeps. Of rows with equal rank, the lowest id
// leaves first.
class PolicyModel {
 public:
  PolicyModel(size_t capacity, bool by_count)
      : capacity_(capacity), by_count_(by_count) {}

  void Lookup(const Ids& ids) {
    ++now_;
    for (const int64_t id : ids) {
      Use& use = uses_[id];
      use.last = now_;
      ++use.count;
    }
    while (uses_.size() > capacity_) uses_.erase(Lowest());
  }

  Ids ids() const {
    Ids ids;
    for (const auto& [id, use] : uses_) ids.push_back(id);
    return ids;
  }

 private:
  struct Use {
    int64_t last = 0;
    int64_t count = 0;
  };

  int64_t Lowest() const {
    const auto rank = [&](const auto& row) {
      const auto& [id, use] = row;
      const bool recent = by_count_ && now_ - use.last < Eviction::kRecent;
      return std::make_tuple(recent, by_count_ ? use.count : 0, use.last, id);
    };
    return std::min_element(
               uses_.begin(), uses_.end(),
               [&](const auto& a, const auto& b) { return rank(a) < rank(b); })
        ->first;
  }

  const size_t capacity_;
  const bool by_count_;
  int64_t now_ = 0;
  std::map<int64_t, Use> uses_;
};

// Looks up random ids, a few of which come often; expects the rows of `model`.
void ExpectFollows(const std::string& eviction, size_t capacity,
                   size_t batch_size, PolicyModel model) {
  const auto table =
      EvictingTable(Concat("rows(count=", capacity, ")"), eviction);
  std::mt19937_64 random(3);
  for (int step = 0; step < 300; ++step) {
    std::set<int64_t> batch;
    while (batch.size() < batch_size) {
      const int bits = static_cast<int>(random() % 12);
      batch.insert(static_cast<int64_t>(random() >> (63 - bits)));
    }
    const Ids ids(batch.begin(), batch.end());
    Look(table.get(), ids);
    model.Lookup(ids);
    ASSERT_EQ(ExportedIds(*table), model.ids()) << "step " << step;
  }
}

TEST(TableEviction, LruTakesTheLeastRecentlyLookedUp) {
  const auto table = EvictingTable("rows(count=3)", "lru");
  Look(table.get(), {1});
  Look(table.get(), {2});
  Look(table.get(), {3});
  Look(table.get(), {1});
  Look(table.get(), {4});
  EXPECT_EQ(ExportedIds(*table), (Ids{1, 3, 4}));
  EXPECT_EQ(table->Stats().evictions, 1u);
}

// When the uses in a log are replayed, rows live as long as before.
TEST(TableEviction, UsesThatAreToldOfCountAsLookups) {
  const auto table = EvictingTable("unlimited", "ttl(steps=3)");
  table->SetTime(0xfffffffe);  // Times wrap around.
  table->Create(Ids{1, 2, 3});
  table->NoteUses(Ids{2, 4}, 1);
  table->SetTime(2);
  EXPECT_EQ(ExportedIds(*table), (Ids{2}));
  // A lookup does not find a row whose time was over, so it did not use the
  // row.
  table->NoteUses(Ids{1, 2}, 3);
  EXPECT_EQ(ExportedIds(*table), (Ids{2}));
  table->SetTime(6);
  EXPECT_EQ(ExportedIds(*table), (Ids{2}));
  table->SetTime(7);
  EXPECT_EQ(ExportedIds(*table), Ids());
}

TEST(TableEviction, ALookupInTwoPartsIsOneStep) {
  const auto table = EvictingTable("unlimited", "ttl(steps=2)");
  Floats rows(4);
  for (const int64_t id : {1, 2, 1}) {
    std::vector<uint32_t> absent;
    const uint32_t before = table->time();
    const uint32_t time = table->LookupPresent({&id, 1}, rows, &absent);
    EXPECT_EQ(time, before);
    if (!absent.empty()) {
      table->LookupAbsent({&id, 1}, time, rows, /*changes=*/nullptr);
    }
    EXPECT_EQ(table->time(), before + 1);
  }
  EXPECT_EQ(ExportedIds(*table), (Ids{1, 2}));
}

TEST(TableEviction, LfuTakesTheLeastOftenLookedUp) {
  const auto table = EvictingTable("rows(count=3)", "lfu");
  for (int64_t id = 1; id <= 3; ++id) {
    for (int64_t times = 0; times < 10 - id; ++times) Look(table.get(), {id});
  }
  // Time passes until none of the three rows is recent.
  for (uint32_t step = 0; step < Eviction::kRecent; ++step) {
    Look(table.get(), {1});
  }
  Look(table.get(), {4});
  EXPECT_EQ(ExportedIds(*table), (Ids{1, 2, 4}));
}

TEST(TableEviction, LfuSparesARecentRow) {
  const auto table = EvictingTable("rows(count=3)", "lfu");
  for (int times = 0; times < 100; ++times) Look(table.get(), {1, 2});
  for (uint32_t step = 0; step < Eviction::kRecent; ++step) {
    Look(table.get(), {5});
  }
  Look(table.get(), {3});
  Look(table.get(), {4});
  EXPECT_EQ(ExportedIds(*table), (Ids{3, 4, 5}));
}

TEST(TableEviction, LruOfAFewRowsIsExact) {
  ExpectFollows("lru", 50, 20, PolicyModel(50, false));
}

TEST(TableEviction, LfuOfAFewRowsIsExact) {
  ExpectFollows("lfu", 50, 20, PolicyModel(50, true));
}

TEST(TableEviction, LruOfAThousandRowsIsExact) {
  ExpectFollows("lru", 950, 60, PolicyModel(950, false));
}

TEST(TableEviction, TtlBeyondTheCapacityIsExactlyLru) {
  ExpectFollows("ttl(steps=100000)", 300, 30, PolicyModel(300, false));
}

TEST(TableEviction, NearlyFollowsThePolicyInALargeTable) {
  constexpr int64_t kRows = 20000, kBatch = 500;
  const auto table = EvictingTable(Concat("rows(count=", kRows, ")"), "lru");
  for (int64_t begin = 0; begin < 2 * kRows; begin += kBatch) {
    Look(table.get(), Range(begin, begin + kBatch));
  }
  // An exact policy would have evicted the first half completely.
  const Ids ids = ExportedIds(*table);
  const auto old =
      std::lower_bound(ids.begin(), ids.end(), kRows) - ids.begin();
  EXPECT_LT(old, kRows / 4);
  const auto very_old =
      std::lower_bound(ids.begin(), ids.end(), kRows / 4) - ids.begin();
  EXPECT_LT(very_old, kRows / 50);
}

TEST(TableEviction, NeverHoldsMoreThanItsCapacityAfterARequest) {
  for (const char* eviction : {"lru", "lfu", "ttl(steps=3)"}) {
    const auto table = EvictingTable("rows(count=1500)", eviction);
    std::mt19937_64 random(5);
    for (int step = 0; step < 100; ++step) {
      Ids ids(random() % 400);
      for (int64_t& id : ids) id = static_cast<int64_t>(random() % 20000);
      if (step % 3 == 0) {
        table->Assign(ids, Floats(ids.size() * 2, 1.0f), {});
      } else {
        Look(table.get(), ids);
      }
      ASSERT_LE(table->Stats().rows, 1500u) << eviction;
    }
  }
}

TEST(TableEviction, CountsEveryRowThatLeft) {
  const auto table = EvictingTable("rows(count=700)", "lru");
  for (int64_t begin = 0; begin < 5000; begin += 250) {
    Look(table.get(), Range(begin, begin + 250));
  }
  EXPECT_EQ(table->Stats().rows, 700u);
  EXPECT_EQ(table->Stats().evictions, 5000u - 700u);
}

TEST(TableEviction, RowsAndTheirIndexFitIntoACapacityInBytes) {
  constexpr uint64_t kBytes = 64 << 20;
  TableConfig config =
      EvictingConfig(Concat("bytes(count=", kBytes, ")"), "lru");
  config.dim = 16;
  const auto table = TableOf(config);
  for (int64_t begin = 0; begin < 1000000; begin += 4000) {
    Look(table.get(), Range(begin, begin + 4000));
  }
  const TableStats stats = table->Stats();
  EXPECT_GT(stats.evictions, 0u);
  // The limit is not met exactly, because chunks and segments are allocated
  // whole.
  EXPECT_LT(static_cast<double>(stats.bytes), 1.15 * kBytes);
  EXPECT_GT(static_cast<double>(stats.bytes), 0.85 * kBytes);
}

TEST(TableEviction, EachShardHoldsItsPartOfTheCapacity) {
  const auto table =
      TableOf(EvictingConfig("rows(count=1000)", "lru"), nullptr, kSlots / 4);
  Look(table.get(), Range(0, 2000));
  EXPECT_EQ(table->Stats().rows, 250u);
}

TEST(TableEviction, AnotherPartOfTheCapacityHoldsFromTheNextLookupOn) {
  const auto table = EvictingTable("rows(count=1000)", "lru");
  EXPECT_EQ(table->share(), kSlots);
  Look(table.get(), Range(0, 2000));
  ASSERT_EQ(table->Stats().rows, 1000u);
  table->SetShare(kSlots / 2);
  EXPECT_EQ(table->share(), kSlots / 2);
  EXPECT_EQ(table->Stats().rows, 1000u);
  Look(table.get(), {1999});
  EXPECT_EQ(table->Stats().rows, 500u);
  table->SetShare(kSlots);
  Look(table.get(), Range(0, 2000));
  EXPECT_EQ(table->Stats().rows, 1000u);
}

TEST(TableEviction, ARequestLargerThanTheCapacityGetsEveryRow) {
  for (const char* eviction : {"lru", "lfu", "ttl(steps=1)"}) {
    const auto table = EvictingTable("rows(count=10)", eviction);
    const auto unlimited = TableOf(MakeConfig("t", 2, "uniform", "sgd"));
    const Ids ids = Range(0, 3000);
    EXPECT_EQ(Look(table.get(), ids), Look(unlimited.get(), ids)) << eviction;
    EXPECT_EQ(table->Stats().rows, 10u) << eviction;
  }
}

TEST(TableEviction, ARowThatComesBackIsNew) {
  for (const char* dtype : {"float32", "bfloat16"}) {
    TableConfig config = EvictingConfig("rows(count=1)", "lru");
    config.optimizer = SpecOf("adagrad");
    config.row_dtype = SpecOf(dtype);
    const auto table = TableOf(config);
    const Floats created = Look(table.get(), {1});
    const TableRow row = ExportAll(*table).at(1);
    table->Update(Ids{1}, Floats{1, 1}, 0.5f);
    ASSERT_NE(Look(table.get(), {1}), created);
    Look(table.get(), {2});
    EXPECT_EQ(Look(table.get(), {1}), created);
    EXPECT_EQ(ExportAll(*table).at(1), row);
  }
}

TEST(TableEviction, AReadOnlyLookupRefreshesNothing) {
  const auto table = EvictingTable("rows(count=2)", "lru");
  Look(table.get(), {1});
  Look(table.get(), {2});
  for (int times = 0; times < 50; ++times) Peek(table.get(), {1});
  Look(table.get(), {3});
  EXPECT_EQ(ExportedIds(*table), (Ids{2, 3}));
}

TEST(TableEviction, AReadOnlyLookupPostponesNoExpiry) {
  const auto table = EvictingTable("unlimited", "ttl(steps=4)");
  Look(table.get(), {1});
  for (int step = 0; step < 5; ++step) {
    Peek(table.get(), {1});
    Look(table.get(), {2});
  }
  EXPECT_EQ(Peek(table.get(), {1}), (Floats{9, 9}));
}

TEST(TableEviction, AReadOnlyLookupDoesNotEvict) {
  const auto table = EvictingTable("rows(count=2)", "lru");
  Look(table.get(), {1, 2});
  EXPECT_EQ(Peek(table.get(), {7}), (Floats{9, 9}));
  EXPECT_EQ(ExportedIds(*table), (Ids{1, 2}));
}

TEST(TableEviction, AnUpdateRefreshesNothing) {
  const auto table = EvictingTable("rows(count=2)", "lru");
  Look(table.get(), {1});
  Look(table.get(), {2});
  table->Update(Ids{1}, Floats{1, 1}, 1.0f);
  Look(table.get(), {3});
  EXPECT_EQ(ExportedIds(*table), (Ids{2, 3}));
}

TEST(TableEviction, AnAssignmentRefreshes) {
  const auto table = EvictingTable("rows(count=2)", "lru");
  Look(table.get(), {2});
  Look(table.get(), {1});
  table->Assign(Ids{2}, Floats{1, 1}, {});
  Look(table.get(), {3});
  EXPECT_EQ(ExportedIds(*table), (Ids{2, 3}));
}

TEST(TableExpiry, ByStepsARowLivesAsLongAsItWasLookedUp) {
  const auto table = EvictingTable("unlimited", "ttl(steps=10)");
  Look(table.get(), {1, 2});
  table->Update(Ids{1, 2}, Floats{1, 1, 1, 1}, 1.0f);
  const Floats trained = Peek(table.get(), {1, 2});
  for (int step = 0; step < 9; ++step) Look(table.get(), {3});
  Look(table.get(), {1});  // The tenth.
  Look(table.get(), {3});
  EXPECT_EQ(Peek(table.get(), {1, 2}), (Floats{trained[0], trained[1], 9, 9}));
  EXPECT_EQ(ExportedIds(*table), (Ids{1, 3}));
}

TEST(TableExpiry, ALookupInTimeFindsTheRowAsItWas) {
  const auto table = EvictingTable("unlimited", "ttl(steps=3)");
  Look(table.get(), {1});
  table->Update(Ids{1}, Floats{1, 1}, 1.0f);
  const Floats trained = Peek(table.get(), {1});
  for (int round = 0; round < 20; ++round) {
    for (int step = 0; step < 2; ++step) Look(table.get(), {2});
    ASSERT_EQ(Look(table.get(), {1}), trained);
  }
  EXPECT_EQ(table->Stats().evictions, 0u);
}

TEST(TableExpiry, ALookupTooLateFindsANewRow) {
  TableConfig config = EvictingConfig("unlimited", "ttl(seconds=1)");
  config.optimizer = SpecOf("adagrad");
  double seconds = 100;
  const auto table = TableOf(config, [&] { return seconds; });
  const Floats created = Look(table.get(), {1});
  const TableRow row = ExportAll(*table).at(1);
  table->Update(Ids{1}, Floats{1, 1}, 1.0f);
  seconds += 10;
  EXPECT_EQ(Look(table.get(), {1}), created);
  EXPECT_EQ(ExportAll(*table).at(1), row);
  EXPECT_EQ(table->Stats().evictions, 1u);
  EXPECT_EQ(table->Stats().rows, 1u);
}

TEST(TableExpiry, BySecondsStepsDoNotCount) {
  double seconds = 1000;
  const auto table = TableOf(EvictingConfig("unlimited", "ttl(seconds=60)"),
                             [&] { return seconds; });
  Look(table.get(), {1, 2});
  for (int step = 0; step < 200; ++step) Look(table.get(), {3});
  EXPECT_EQ(ExportedIds(*table), (Ids{1, 2, 3}));
  seconds += 50;
  Look(table.get(), {2});
  seconds += 12;
  EXPECT_EQ(ExportedIds(*table), Ids{2});
  EXPECT_EQ(Peek(table.get(), {1}), (Floats{9, 9}));
}

TEST(TableExpiry, LaterLookupsTakeTheMemoryBack) {
  double seconds = 0;
  const auto table = TableOf(EvictingConfig("unlimited", "ttl(seconds=5)"),
                             [&] { return seconds; });
  Look(table.get(), Range(0, 10000));
  seconds = 10;
  Look(table.get(), {-1});
  EXPECT_GT(table->Stats().rows, 1u);
  while (table->Stats().rows > 1) {
    const uint64_t before = table->Stats().rows;
    for (int step = 0; step < 64; ++step) Look(table.get(), {-1});
    ASSERT_LT(table->Stats().rows, before);
  }
  EXPECT_EQ(table->Stats().evictions, 10000u);
}

TEST(TableExpiry, ExpiredRowsMakeRoomForNewOnes) {
  const auto table = EvictingTable("rows(count=100)", "ttl(steps=5)");
  for (int64_t begin = 0; begin < 3000; begin += 10) {
    Look(table.get(), Range(begin, begin + 10));
  }
  EXPECT_EQ(ExportedIds(*table), Range(2950, 3000));
}

TEST(TableExpiry, DuplicatesOfAnExpiredRowAreOneNewRow) {
  double seconds = 0;
  const auto table = TableOf(EvictingConfig("unlimited", "ttl(seconds=1)"),
                             [&] { return seconds; });
  const Ids ids = IdsOfSubShard(3, 100);
  const Floats created = Look(table.get(), ids);
  table->Update(ids, Floats(200, 1.0f), 1.0f);
  seconds = 10;
  Ids twice = ids;
  twice.insert(twice.end(), ids.rbegin(), ids.rend());
  const Floats rows = Look(table.get(), twice);
  EXPECT_EQ(Floats(rows.begin(), rows.begin() + 200), created);
  EXPECT_EQ(table->Stats().rows, 100u);
  EXPECT_EQ(table->Stats().evictions, 100u);
  EXPECT_EQ(Peek(table.get(), ids), created);
}

// Ids whose rows expired must be admitted again; their second lookups do that.
TEST(TableExpiry, IdsThatWaitAgainGetNobodyElsesRow) {
  double seconds = 0;
  TableConfig config = EvictingConfig("unlimited", "ttl(seconds=1)");
  config.admission = SpecOf("min_count(count=2)");
  const auto table = TableOf(config, [&] { return seconds; });
  const Ids ids = IdsOfSubShard(3, 2);
  Look(table.get(), ids);
  const Floats initial = Look(table.get(), ids);
  seconds = 10;
  const Floats rows = Look(table.get(), {ids[0], ids[1], ids[0], ids[1]});
  EXPECT_EQ(Floats(rows.begin(), rows.begin() + 4), initial);
  EXPECT_EQ(Floats(rows.begin() + 4, rows.end()), initial);
  EXPECT_EQ(Peek(table.get(), ids), initial);
  EXPECT_EQ(table->Stats().rows, 2u);
}

}  // namespace
}  // namespace persia
