// A shard that comes back from its journal has the rows that it had.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>

#include "cc/shard/local_service.h"
#include "tests/cc/service/service_calls.h"
#include "tests/cc/shard/recovery_fixture.h"
#include "tests/cc/shard/traffic.h"

namespace persia {
namespace {

using RecoveryTest = RecoveryFixture;

TEST_F(RecoveryTest, GivesTheSameRowsAfterEachEnd) {
  Traffic traffic(1);
  auto expected = AllRows(OpenWithTables().get());
  for (int life = 0; life < 4; ++life) {
    const Service service = Open();
    ASSERT_EQ(AllRows(service.get()), expected) << life;
    for (int step = 0; step < 8; ++step) traffic.Run(service.get());
    expected = AllRows(service.get());
  }
  EXPECT_GT(expected["plain"].size(), 60u);
}

TEST_F(RecoveryTest, GoesOnAsIfNothingHadHappened) {
  // Without eviction by use: when a row was used is not logged.
  Traffic through(2);
  Traffic broken(2);
  const Service undisturbed = MakeLocalService();
  for (const TableConfig& config : Configs()) {
    ASSERT_TRUE(Create(undisturbed.get(), config).ok());
  }
  (void)OpenWithTables();
  for (int life = 0; life < 5; ++life) {
    const Service service = Open(/*base_bytes=*/1 << 12);
    for (int step = 0; step < 6; ++step) {
      through.Run(undisturbed.get());
      broken.Run(service.get());
    }
    for (const std::string table : {"plain", "rounded"}) {
      ASSERT_EQ(RowsOf(service.get(), table), RowsOf(undisturbed.get(), table))
          << table;
    }
  }
}

TEST_F(RecoveryTest, KnowsWhichUpdatesWereApplied) {
  const Floats gradients(kDim, 1.0f);
  {
    const Service service = OpenWithTables();
    Train(service.get(), "plain", {7});
    for (uint64_t sequence : {1, 2, 4}) {
      ASSERT_TRUE(
          Step(service.get(), "plain", {7}, gradients, 9, sequence).ok());
    }
  }
  const Service service = Open();
  const Rows before = RowsOf(service.get(), "plain");
  for (uint64_t sequence : {1, 2, 4}) {
    ASSERT_TRUE(Step(service.get(), "plain", {7}, gradients, 9, sequence).ok());
  }
  EXPECT_EQ(RowsOf(service.get(), "plain"), before);
  ASSERT_TRUE(Step(service.get(), "plain", {7}, gradients, 9, 3).ok());
  EXPECT_NE(RowsOf(service.get(), "plain"), before);
}

TEST_F(RecoveryTest, KeepsRowsThatWereOnlyLookedUp) {
  Floats looked;
  {
    const Service service = OpenWithTables();
    looked = Train(service.get(), "plain", {1, 2});
  }
  const Service service = Open();
  EXPECT_EQ(RowsOf(service.get(), "plain").size(), 2u);
  UpdateCounts counts;
  ASSERT_TRUE(Step(service.get(), "plain", {1, 2}, Floats(2 * kDim, 1.0f), 1, 1,
                   &counts)
                  .ok());
  EXPECT_EQ(counts.applied, 2u);
  EXPECT_NE(Train(service.get(), "plain", {1, 2}), looked);
}

// Whether a reader finds a row of table "short", whose rows live for 4 lookups.
bool Finds(EmbeddingService* service, int64_t id) {
  Floats row(kDim);
  const Ids ids = {id};
  LookupRequest request;
  request.read_only = true;
  request.tables = {{IdsOf("short", ids), row}};
  const Status status = Call(service, &EmbeddingService::Lookup, &request);
  EXPECT_TRUE(status.ok()) << status.message();
  return std::any_of(row.begin(), row.end(), [](float x) { return x != 0; });
}

TEST_F(RecoveryTest, ARowWhoseTimeWasOverStaysAway) {
  Service service = OpenWithTables();
  Train(service.get(), "short", {1});
  for (int step = 0; step < 3; ++step) Train(service.get(), "short", {2});
  EXPECT_TRUE(Finds(service.get(), 1));
  Train(service.get(), "short", {2});
  service = Reopened(std::move(service));
  EXPECT_FALSE(Finds(service.get(), 1));
  EXPECT_TRUE(Finds(service.get(), 2));
  // Nor does it come back after a lookup has seen that its time was over.
  service = Reopened(std::move(service));
  EXPECT_FALSE(Finds(service.get(), 1));
}

TEST_F(RecoveryTest, ARowOfABaseWhoseTimeWasOverStaysAway) {
  Service service = OpenWithTables(/*base_bytes=*/1 << 12);
  Train(service.get(), "short", {1});
  const Floats gradients(kDim, 1.0f);
  const Deadline give_up = DeadlineAfter(60);
  for (uint64_t step = 1; !HasBase() && Clock::now() < give_up; ++step) {
    Train(service.get(), "plain", {7});
    ASSERT_TRUE(Step(service.get(), "plain", {7}, gradients, 1, step).ok());
  }
  ASSERT_TRUE(HasBase());
  for (int step = 0; step < 3; ++step) Train(service.get(), "short", {2});
  service = Reopened(std::move(service));
  EXPECT_TRUE(Finds(service.get(), 1));
  Train(service.get(), "short", {2});
  service = Reopened(std::move(service));
  EXPECT_FALSE(Finds(service.get(), 1));
  EXPECT_TRUE(Finds(service.get(), 2));
}

TEST_F(RecoveryTest, ARowThatWasUsedLivesOnAsItWouldHave) {
  Service service = OpenWithTables();
  Train(service.get(), "short", {1, 3});
  Train(service.get(), "short", {2});
  Train(service.get(), "short", {3});
  for (int step = 0; step < 2; ++step) {
    service = Reopened(std::move(service));
    EXPECT_TRUE(Finds(service.get(), 1)) << step;
    Train(service.get(), "short", {2});
  }
  service = Reopened(std::move(service));
  Train(service.get(), "short", {2});
  EXPECT_FALSE(Finds(service.get(), 1));
  EXPECT_TRUE(Finds(service.get(), 3));
}

TEST_F(RecoveryTest, HoldsWhenManyThreadsChangeTheSameRows) {
  Service service = OpenWithTables(/*base_bytes=*/1 << 14);
  RunInThreads([&](int thread) {
    std::mt19937 random(static_cast<uint32_t>(thread));
    for (uint64_t sequence = 1; sequence <= 150; ++sequence) {
      Ids ids;
      for (int64_t id = 0; id < 100; ++id) {
        if (random() % 6 == 0) ids.push_back(id);
      }
      const std::string table = sequence % 2 == 0 ? "capped" : "rounded";
      Train(service.get(), table, ids);
      const Floats gradients(ids.size() * kDim,
                             static_cast<float>(random() % 9) - 4);
      const auto client = static_cast<uint64_t>(thread + 1);
      EXPECT_TRUE(
          Step(service.get(), table, ids, gradients, client, sequence).ok());
    }
  });
  const auto expected = AllRows(service.get());
  service = nullptr;
  service = Open();
  EXPECT_EQ(AllRows(service.get()), expected);
}

class CheckpointRecoveryTest : public RecoveryTest {
 protected:
  CheckpointRecoveryTest() { level_ = RecoveryLevel::kCheckpoint; }
};

TEST_F(CheckpointRecoveryTest, BringsTheTablesBackWithoutACheckpoint) {
  {
    const Service service = OpenWithTables();
    Train(service.get(), "plain", {1});
    ASSERT_TRUE(Step(service.get(), "plain", {1}, Floats(kDim), 5, 1).ok());
  }
  const Service service = Open();
  StatsRequest stats;
  ASSERT_TRUE(Call(service.get(), &EmbeddingService::Stats, &stats).ok());
  EXPECT_EQ(stats.processes[0].tables.size(), Configs().size());
  EXPECT_EQ(RowsOf(service.get(), "plain").size(), 0u);
  // Training goes on, and an event tells what was lost.
  Train(service.get(), "plain", {1});
  ASSERT_TRUE(Step(service.get(), "plain", {1}, Floats(kDim), 5, 4).ok());
  const std::string told = Told();
  EXPECT_NE(told.find("client 5: this shard lost up to 3"), std::string::npos)
      << told;
  ASSERT_TRUE(Call(service.get(), &EmbeddingService::Stats, &stats).ok());
  EXPECT_EQ(stats.processes[0].lost_updates, 3u);
}

}  // namespace
}  // namespace persia
