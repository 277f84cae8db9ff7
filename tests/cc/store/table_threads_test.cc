// Threads that do all that a table can do, for the thread sanitizer.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>

#include "tests/cc/store/make_config.h"
#include "tests/cc/store/table_calls.h"

namespace persia {
namespace {

constexpr size_t kDim = 24;
constexpr size_t kCapacity = 1500;
constexpr int64_t kIds = 6000;

// True for rows that no thread has torn, since every gradient and value is the
// same for all weights.
bool IsWhole(const float* row) {
  return std::all_of(row, row + kDim, [&](float x) { return x == row[0]; });
}

void ExpectWhole(const Floats& rows) {
  for (size_t at = 0; at < rows.size(); at += kDim) {
    ASSERT_TRUE(IsWhole(rows.data() + at)) << "row " << at / kDim;
  }
}

void DoOne(Table* table, std::mt19937_64* random) {
  Ids ids(100);
  for (int64_t& id : ids) id = static_cast<int64_t>((*random)() % kIds);
  const auto value = static_cast<float>((*random)() % 100);
  RowPage page;
  switch ((*random)() % 10) {
    case 0:
      ExpectWhole(Peek(table, ids));
      break;
    case 1:
      table->Assign(ids, Floats(ids.size() * kDim, value), {});
      break;
    case 2:
      table->Assign(ids, Floats(ids.size() * kDim, value),
                    Floats(ids.size() * table->state_size(), value));
      break;
    case 3:
      EXPECT_LE(table->Remove(ids), ids.size());
      break;
    case 4:
      table->Export((*random)() >> 1, 200, &page);
      ExpectWhole(page.weights);
      ExpectWhole(page.state);
      break;
    case 5:
      EXPECT_LE(table->Stats().rows, static_cast<uint64_t>(kIds));
      break;
    default:
      ExpectWhole(Look(table, ids));
      table->Update(ids, Floats(ids.size() * kDim, value), 0.01f);
  }
}

TableConfig ThreadsConfig(const std::string& eviction,
                          const std::string& admission) {
  TableConfig config = MakeConfig("t", kDim, "constant(value=0.5)", "adagrad");
  config.capacity = SpecOf(Concat("rows(count=", kCapacity, ")"));
  config.eviction = SpecOf(eviction);
  config.admission = SpecOf(admission);
  return config;
}

void ExpectHolds(Table* table) {
  EXPECT_LE(table->Stats().rows, kCapacity);
  const auto rows = ExportAll(*table, 300);
  EXPECT_EQ(table->Stats().rows, rows.size());
  for (const auto& [id, row] : rows) {
    EXPECT_TRUE(IsWhole(row.weights.data())) << id;
    EXPECT_TRUE(IsWhole(row.state.data())) << id;
  }
}

void ExpectHoldsInThreads(const std::string& eviction,
                          const std::string& admission) {
  std::atomic<int> seconds{0};
  const auto table = TableOf(ThreadsConfig(eviction, admission),
                             [&] { return static_cast<double>(seconds); });
  RunInThreads([&](int thread) {
    std::mt19937_64 random(static_cast<uint64_t>(thread));
    for (int step = 0; step < 400; ++step) {
      DoOne(table.get(), &random);
      if (thread == 0 && step % 10 == 0) ++seconds;
    }
  });
  // Lookups until all expired rows are swept.
  for (int step = 0; step < 1000; ++step) Look(table.get(), {1});
  ExpectHolds(table.get());

  // The table must not have lost count of its rows.
  table->Assign(Range(kIds, kIds + 5000), Floats(5000 * kDim, 1.0f), {});
  EXPECT_EQ(table->Stats().rows, kCapacity);
  ExpectHolds(table.get());
}

TEST(TableThreads, HoldWhileTheLeastRecentRowsLeave) {
  ExpectHoldsInThreads("lru", "always");
}

TEST(TableThreads, HoldWhileTheLeastFrequentRowsLeave) {
  ExpectHoldsInThreads("lfu", "min_count(count=2)");
}

TEST(TableThreads, HoldWhileRowsExpire) {
  ExpectHoldsInThreads("ttl(seconds=5)", "always");
}

TEST(TableThreads, HoldWhileIdsWait) {
  ExpectHoldsInThreads("ttl(seconds=5)",
                       "bloom_min_count(count=2,expected_ids=10000,"
                       "false_positive_rate=0.01)");
}

}  // namespace
}  // namespace persia
