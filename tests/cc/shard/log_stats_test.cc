// What a shard tells operators about its log and its checkpoints.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cc/shard/checkpoint_fixture.h"
#include "tests/cc/support/row_requests.h"

namespace persia {
namespace {

RecoveryOptions RecoveryIn(const std::string& folder) {
  RecoveryOptions recovery;
  recovery.journal.folder = folder;
  return recovery;
}

class LogStatsTest : private HasFolder, public CheckpointFixture {
 protected:
  LogStatsTest() : CheckpointFixture(RecoveryIn(folder_.path())) {}

  ServiceStats Stats() { return StatsOf(service_.get()).at(0); }

  Status Commit(uint64_t save) {
    CheckpointRequest request;
    request.files = {FolderOf(save) + "/" + kShardFile};
    return Ask(CheckpointAction::kCommit, save, &request);
  }
};

TEST_F(LogStatsTest, TellTheLogsGrowthAndItsFailure) {
  const ServiceStats before = Stats();
  EXPECT_GT(before.log_records, 0u);
  Train(service_.get(), "t", Range(0, 10));
  const ServiceStats after = Stats();
  EXPECT_GT(after.log_records, before.log_records);
  EXPECT_GT(after.log_bytes, before.log_bytes);
  EXPECT_EQ(after.log_failed, 0u);
  files_.FailWritesAfter(0);
  Floats rows(kDim);
  LookupRequest request;
  const Ids ids = {99};
  request.tables = {{IdsOf("t", ids), rows}};
  EXPECT_FALSE(Call(service_.get(), &EmbeddingService::Lookup, &request).ok());
  EXPECT_EQ(Stats().log_failed, 1u);
  // Operators learn of it, although the error went to a client.
  std::vector<std::string> errors;
  while (const auto event = events_.Take(Clock::now())) {
    if (event->level == EventLevel::kError) errors.push_back(event->text);
  }
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_EQ(errors[0].rfind("this shard refuses every change: ", 0), 0u)
      << errors[0];
  files_.FailWritesAfter(UINT64_MAX);
}

TEST_F(LogStatsTest, CountSavesRestoresAndFailures) {
  Train(service_.get(), "t", Range(100, 110));
  ASSERT_TRUE(Save(1).ok());
  EXPECT_EQ(Stats().saves, 0u);  // It is not committed yet.
  EXPECT_EQ(Stats().last_save_unix, 0u);
  ASSERT_TRUE(Commit(1).ok());
  EXPECT_EQ(Stats().saves, 1u);
  EXPECT_GT(Stats().last_save_unix, 1700000000u);
  ASSERT_TRUE(Restore(1).ok());
  const ServiceStats stats = Stats();
  EXPECT_EQ(stats.restores, 1u);
  EXPECT_EQ(stats.failed_checkpoints, 0u);
  EXPECT_EQ(stats.checkpoint_running, 0u);
  EXPECT_FALSE(Restore(7).ok());  // There is no such checkpoint.
  EXPECT_EQ(Stats().failed_checkpoints, 1u);
}

}  // namespace
}  // namespace persia
