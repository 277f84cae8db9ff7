// When a shard writes its log anew as rows.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cc/service/local_service.h"
#include "tests/cc/files/temporary_folder.h"
#include "tests/cc/log/memory_files.h"
#include "tests/cc/service/service_calls.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

constexpr int kMostSeconds = 60;
constexpr size_t kBaseBytes = 1 << 16;
constexpr size_t kIds = 100;
// So many log more than a base wants, and fewer than two want.
constexpr size_t kSteps = kBaseBytes / (kIds * (8 + 4 * kDim)) + 1;

class BaseKeeperTest : public ::testing::Test {
 protected:
  BaseKeeperTest() {
    LocalServiceOptions options;
    options.recovery.journal.files = &files_;
    options.recovery.journal.folder = folder_.path();
    options.recovery.journal.sync = SyncMode::kSystem;
    options.recovery.journal.least_base_bytes = kBaseBytes;
    options.recovery.level = RecoveryLevel::kLog;
    options.events = &events_;
    auto service = OpenLocalService(options);
    EXPECT_TRUE(service.ok()) << service.status().message();
    service_ = std::move(*service);
    const TableConfig config = MakeConfig("t", kDim, "uniform", "adagrad");
    EXPECT_TRUE(Create(service_.get(), config).ok());
  }

  void Steps(size_t count) {
    const Floats gradients(kIds * kDim, 1.0f);
    for (size_t step = 0; step < count; ++step) {
      ASSERT_TRUE(
          Step(service_.get(), "t", Range(0, kIds), gradients, 7, ++sequence_)
              .ok());
    }
  }

  // The next that is told of a base, or "".
  std::string NextBase() {
    const Deadline deadline = DeadlineAfter(kMostSeconds);
    while (const auto event = events_.Take(deadline)) {
      if (event->text.find("has a base") != std::string::npos) {
        return event->text;
      }
    }
    return "";
  }

  TemporaryFolder folder_;
  MemoryFiles files_;
  EventLog events_;
  std::unique_ptr<EmbeddingService> service_;
  uint64_t sequence_ = 0;
};

TEST_F(BaseKeeperTest, MakesOneBaseForEachGrowthOfTheLog) {
  Train(service_.get(), "t", Range(0, kIds));
  files_.HoldSyncs();
  Steps(kSteps);
  files_.WaitForHeldSync();
  Steps(3);  // A base is due all the while.
  files_.ReleaseSyncs();
  EXPECT_NE(NextBase().find("a base of 100 rows"), std::string::npos);
  Train(service_.get(), "t", Range(0, 2 * kIds));
  Steps(kSteps);
  EXPECT_NE(NextBase().find("a base of 200 rows"), std::string::npos);
  service_ = nullptr;
  events_.Close();
  EXPECT_EQ(NextBase(), "");
}

}  // namespace
}  // namespace persia
