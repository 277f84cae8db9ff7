// A table that a shard refused does not exist, and was never in its log.

#include <gtest/gtest.h>

#include <string>

#include "cc/shard/local_service.h"
#include "tests/cc/files/temporary_folder.h"
#include "tests/cc/service/service_calls.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

constexpr uint64_t kLimit = uint64_t{4} << 20;

class RefusedTableTest : public ::testing::TestWithParam<RecoveryLevel> {
 protected:
  RefusedTableTest() { Open(); }

  void Open() {
    service_ = nullptr;
    LocalServiceOptions options;
    options.limits.memory_bytes = kLimit;
    options.limits.tables = 2;
    options.checkpoints.root = folder_ / "checkpoints";
    options.recovery.journal.folder = folder_ / "recovery";
    options.recovery.level = GetParam();
    auto service = OpenLocalService(options);
    ASSERT_TRUE(service.ok()) << service.status().message();
    service_ = std::move(*service);
  }

  Status CreateWith(const std::string& admission) {
    TableConfig config = MakeConfig("t", kDim, "uniform", "adagrad");
    config.admission = SpecOf(admission);
    return Create(service_.get(), config);
  }

  uint64_t BytesOfTables() {
    StatsRequest stats;
    EXPECT_TRUE(Call(service_.get(), &EmbeddingService::Stats, &stats).ok());
    uint64_t bytes = 0;
    for (const TableStats& table : stats.processes.at(0).tables) {
      bytes += table.bytes;
    }
    return bytes;
  }

  const TemporaryFolder folder_;
  std::unique_ptr<EmbeddingService> service_;
};

constexpr char kTooLarge[] =
    "bloom_min_count(count=2,expected_ids=1000000000,"
    "false_positive_rate=0.01)";
constexpr char kSmall[] =
    "bloom_min_count(count=2,expected_ids=1000,"
    "false_positive_rate=0.01)";

TEST_P(RefusedTableTest, IsAbsentAfterARestart) {
  ASSERT_EQ(CreateWith(kTooLarge).code(), Code::kResourceExhausted);
  Open();
  EXPECT_EQ(BytesOfTables(), 0u);
  EXPECT_TRUE(CreateWith(kSmall).ok());
}

TEST_P(RefusedTableTest, IsNotInTheWayOfTheCorrectedOne) {
  ASSERT_EQ(CreateWith(kTooLarge).code(), Code::kResourceExhausted);
  ASSERT_TRUE(CreateWith(kSmall).ok());
  for (int use = 0; use < 2; ++use) Train(service_.get(), "t", {1, 2});
  ASSERT_EQ(RowsOf(service_.get(), "t").size(), 2u);
  Open();
  EXPECT_TRUE(CreateWith(kSmall).ok());
  const bool logs = GetParam() == RecoveryLevel::kLog;
  EXPECT_EQ(RowsOf(service_.get(), "t").size(), logs ? 2u : 0u);
  EXPECT_LT(BytesOfTables(), kLimit);
}

INSTANTIATE_TEST_SUITE_P(Levels, RefusedTableTest,
                         ::testing::Values(RecoveryLevel::kLog,
                                           RecoveryLevel::kCheckpoint));

}  // namespace
}  // namespace persia
