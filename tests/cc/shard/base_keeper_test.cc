// When a shard replaces its log by a base of its rows.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/shard/local_service.h"
#include "tests/cc/files/temporary_folder.h"
#include "tests/cc/log/memory_files.h"
#include "tests/cc/service/service_calls.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

constexpr int kMostSeconds = 60;
constexpr size_t kBaseBytes = 1 << 16;
constexpr size_t kIds = 100;
// So many steps log more than one base needs, and less than two need.
constexpr size_t kSteps = kBaseBytes / (kIds * (8 + 4 * kDim)) + 1;

class BaseKeeperTest : public ::testing::Test {
 protected:
  BaseKeeperTest() {
    auto service = Open(&files_, &checkpoints_);
    EXPECT_TRUE(service.ok()) << service.status().message();
    service_ = std::move(*service);
    const TableConfig config = MakeConfig("t", kDim, "uniform", "adagrad");
    EXPECT_TRUE(Create(service_.get(), config).ok());
  }

  Result<std::unique_ptr<EmbeddingService>> Open(FileSystem* journal,
                                                 FileSystem* checkpoints) {
    LocalServiceOptions options;
    options.checkpoints.files = checkpoints;
    options.checkpoints.root = "/root";
    options.recovery.journal.files = journal;
    options.recovery.journal.folder = folder_.path();
    options.recovery.journal.sync = SyncMode::kSystem;
    options.recovery.journal.least_base_bytes = kBaseBytes;
    options.recovery.level = RecoveryLevel::kLog;
    options.events = &events_;
    return OpenLocalService(options);
  }

  void Steps(size_t count) {
    const Floats gradients(kIds * kDim, 1.0f);
    for (size_t step = 0; step < count; ++step) {
      ASSERT_TRUE(
          Step(service_.get(), "t", Range(0, kIds), gradients, 7, ++sequence_)
              .ok());
    }
  }

  Status Ask(CheckpointAction action, uint64_t save,
             CheckpointRequest* request) {
    request->action = action;
    request->save_id = save;
    request->folder = "ckpt-" + std::to_string(save);
    request->deadline = DeadlineAfter(kMostSeconds);
    return Call(service_.get(), &EmbeddingService::Checkpoint, request);
  }

  CheckpointProgress Progress() {
    CheckpointRequest progress;
    EXPECT_TRUE(Ask(CheckpointAction::kProgress, 0, &progress).ok());
    return progress.shards.at(0);
  }

  Status WaitForJob() {
    for (;;) {
      const CheckpointProgress progress = Progress();
      if (progress.state == CheckpointProgress::State::kEnded) {
        return progress.outcome;
      }
    }
  }

  Status Save(uint64_t save) {
    CheckpointRequest begin;
    PERSIA_RETURN_IF_ERROR(Ask(CheckpointAction::kSave, save, &begin));
    return WaitForJob();
  }

  Status Restore(uint64_t save) {
    CheckpointRequest begin;
    begin.files = {"ckpt-" + std::to_string(save) + "/shard-00000"};
    PERSIA_RETURN_IF_ERROR(Ask(CheckpointAction::kRestore, save, &begin));
    PERSIA_RETURN_IF_ERROR(WaitForJob());
    CheckpointRequest swap;
    swap.generation = 77;
    return Ask(CheckpointAction::kSwap, save, &swap);
  }

  // Waits until the log has a base of the restored rows.
  void WaitUntilNothingIsNeeded() {
    const Deadline give_up = DeadlineAfter(kMostSeconds);
    while (!Progress().needed.empty()) ASSERT_LT(Clock::now(), give_up);
  }

  // The next event about a base, or "".
  std::string NextBase() {
    const Deadline deadline = DeadlineAfter(kMostSeconds);
    while (const auto event = events_.Take(deadline)) {
      if (event->text.find("wrote a base") != std::string::npos) {
        return event->text;
      }
    }
    return "";
  }

  TemporaryFolder folder_;
  MemoryFiles files_;  // The journal's.
  MemoryFiles checkpoints_;
  EventLog events_;
  std::unique_ptr<EmbeddingService> service_;
  uint64_t sequence_ = 0;
};

TEST_F(BaseKeeperTest, MakesOneBaseForEachGrowthOfTheLog) {
  Train(service_.get(), "t", Range(0, kIds));
  files_.HoldSyncs();
  Steps(kSteps);
  files_.WaitForHeldSync();
  Steps(3);  // Meanwhile the base is due.
  files_.ReleaseSyncs();
  EXPECT_NE(NextBase().find("the log with 100 rows"), std::string::npos);
  Train(service_.get(), "t", Range(0, 2 * kIds));
  Steps(kSteps);
  EXPECT_NE(NextBase().find("the log with 200 rows"), std::string::npos);
  service_ = nullptr;
  events_.Close();
  EXPECT_EQ(NextBase(), "");
}

// Earlier, each save ended the base that was being written. So the log of a
// shard that was saved again and again grew for ever, and each save waited for
// the base to end.
TEST_F(BaseKeeperTest, ABaseIsMadeWhileSavesFollowEachOther) {
  Train(service_.get(), "t", Range(0, kIds));
  files_.HoldSyncs();
  Steps(kSteps);
  files_.WaitForHeldSync();
  for (const uint64_t save : {1, 2, 3}) {
    const Status saved = Save(save);
    ASSERT_TRUE(saved.ok()) << saved.message();
    Steps(1);
  }
  files_.ReleaseSyncs();
  EXPECT_NE(NextBase().find("the log with 100 rows"), std::string::npos);
  service_ = nullptr;
  events_.Close();
  EXPECT_EQ(NextBase(), "");
}

// A restore that was acknowledged, and whose base is not yet written.
class RestoredTest : public BaseKeeperTest {
 protected:
  RestoredTest() {
    Train(service_.get(), "t", Range(0, kIds));
    EXPECT_TRUE(Save(1).ok());
    saved_ = RowsOf(service_.get(), "t");
    Steps(1);
    files_.HoldSyncs();
    const Status restored = Restore(1);
    EXPECT_TRUE(restored.ok()) << restored.message();
    files_.WaitForHeldSync();
  }

  ~RestoredTest() override { files_.ReleaseSyncs(); }

  // Keeps the files as they are now, as a kill leaves them.
  void End() {
    killed_ = files_.image();
    files_.ReleaseSyncs();
    service_ = nullptr;
  }

  Rows saved_;
  MemoryImage killed_;
};

TEST_F(RestoredTest, NeedsTheCheckpointUntilTheLogHasABase) {
  EXPECT_EQ(Progress().needed, "ckpt-1");
  EXPECT_TRUE(Progress().base_outcome.ok());
  files_.ReleaseSyncs();
  WaitUntilNothingIsNeeded();
  service_ = nullptr;
  MemoryFiles nothing;
  auto service = Open(&files_, &nothing);
  ASSERT_TRUE(service.ok()) << service.status().message();
  EXPECT_EQ(RowsOf(service->get(), "t"), saved_);
}

TEST_F(RestoredTest, TellsWhyItStillNeedsIt) {
  files_.FailSyncs();
  files_.ReleaseSyncs();
  const Deadline give_up = DeadlineAfter(kMostSeconds);
  while (Progress().base_outcome.ok()) ASSERT_LT(Clock::now(), give_up);
  EXPECT_EQ(Progress().needed, "ckpt-1");
}

// Earlier, the shard waited until the log had grown by a GiB, and needed the
// checkpoint until then.
TEST_F(RestoredTest, WritesTheBaseOnceItHasComeBack) {
  End();
  MemoryFiles files(killed_);
  auto service = Open(&files, &checkpoints_);
  ASSERT_TRUE(service.ok()) << service.status().message();
  service_ = std::move(*service);
  EXPECT_EQ(RowsOf(service_.get(), "t"), saved_);
  WaitUntilNothingIsNeeded();
  service_ = nullptr;
  MemoryFiles nothing;
  service = Open(&files, &nothing);
  ASSERT_TRUE(service.ok()) << service.status().message();
  EXPECT_EQ(RowsOf(service->get(), "t"), saved_);
}

TEST_F(RestoredTest, SaysWhichCheckpointItLacks) {
  End();
  MemoryFiles files(killed_);
  MemoryFiles nothing;
  const Status status = Open(&files, &nothing).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  for (const char* words : {"needs checkpoint ckpt-1", "checkpoint back"}) {
    EXPECT_NE(status.message().find(words), std::string::npos)
        << status.message();
  }
}

}  // namespace
}  // namespace persia
