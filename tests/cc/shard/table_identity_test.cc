// A table's identity is kept in the log, in its base, and in checkpoints.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cc/shard/local_service.h"
#include "tests/cc/files/temporary_folder.h"
#include "tests/cc/service/service_calls.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

using Action = CheckpointAction;

// A shard that is started again from its journal.
class TableIdentityTest : public ::testing::Test {
 protected:
  void Open(RecoveryLevel level, uint64_t base_bytes = 1 << 30) {
    level_ = level;
    service_ = nullptr;
    LocalServiceOptions options;
    options.checkpoints.root = folder_ / "checkpoints";
    if (keeps_log_) options.recovery.journal.folder = folder_ / "recovery";
    options.recovery.journal.sync = SyncMode::kSystem;
    options.recovery.journal.least_base_bytes = base_bytes;
    options.recovery.level = level;
    auto service = OpenLocalService(options);
    ASSERT_TRUE(service.ok()) << service.status().message();
    service_ = std::move(*service);
  }

  void OpenWithoutLog() {
    keeps_log_ = false;
    Open(RecoveryLevel::kLog);
  }

  void ComeBack() { Open(level_); }

  CreateTableRequest Do(OpeningStep step, uint64_t identity = 0,
                        const std::string& table = "t") {
    CreateTableRequest request;
    request.config = MakeConfig(table, kDim, "uniform", "adagrad");
    request.step = step;
    request.identity = identity;
    outcome_ = Call(service_.get(), &EmbeddingService::CreateTable, &request);
    return request;
  }

  // What the shard reports about the table.
  CreateTableRequest Found(const std::string& table = "t") {
    const CreateTableRequest found = Do(OpeningStep::kFind, 0, table);
    EXPECT_TRUE(outcome_.ok()) << outcome_.message();
    return found;
  }

  void ExpectFound(uint64_t identity,
                   TableState state = TableState::kComplete) {
    const CreateTableRequest found = Found();
    EXPECT_EQ(found.state, state);
    EXPECT_EQ(found.identity, identity);
  }

  void Ask(Action action, uint64_t save_id, uint64_t generation = 0) {
    CheckpointRequest request;
    request.deadline = DeadlineAfter(60);
    request.action = action;
    request.save_id = save_id;
    request.generation = generation;
    request.folder = "save" + std::to_string(save_id);
    if (action == Action::kRestore || action == Action::kCommit) {
      request.files = {request.folder + "/shard-00000"};
    }
    const Status status =
        Call(service_.get(), &EmbeddingService::Checkpoint, &request);
    ASSERT_TRUE(status.ok()) << status.message();
    if (action == Action::kSave || action == Action::kRestore) WaitForJob();
  }

  void WaitForJob() {
    CheckpointRequest progress;
    do {
      progress.deadline = DeadlineAfter(60);
      ASSERT_TRUE(
          Call(service_.get(), &EmbeddingService::Checkpoint, &progress).ok());
    } while (progress.shards.at(0).state != CheckpointProgress::State::kEnded);
    const Status& outcome = progress.shards[0].outcome;
    ASSERT_TRUE(outcome.ok()) << outcome.message();
  }

  void Save(uint64_t save_id) {
    Ask(Action::kSave, save_id);
    Ask(Action::kCommit, save_id);
    Ask(Action::kForget, save_id);
  }

  void Restore(uint64_t save_id, uint64_t generation) {
    Ask(Action::kRestore, save_id);
    Ask(Action::kSwap, save_id, generation);
  }

  const TemporaryFolder folder_;
  bool keeps_log_ = true;
  RecoveryLevel level_ = RecoveryLevel::kLog;
  std::unique_ptr<EmbeddingService> service_;
  Status outcome_;
};

TEST_F(TableIdentityTest, IsDrawnWhenATableIsMade) {
  OpenWithoutLog();
  const uint64_t one = Do(OpeningStep::kOpen).identity;
  EXPECT_NE(one, 0u);
  EXPECT_EQ(Do(OpeningStep::kOpen).identity, one);
  const uint64_t other = Do(OpeningStep::kOpen, 0, "other").identity;
  EXPECT_NE(other, 0u);
  EXPECT_NE(other, one);
}

TEST_F(TableIdentityTest, ToFindATableMakesNothingAndFailsAsMakingItWould) {
  OpenWithoutLog();
  EXPECT_EQ(Found().state, TableState::kAbsent);
  EXPECT_EQ(Found().identity, 0u);
  CreateTableRequest bad;
  bad.config = MakeConfig("t", 0);
  bad.step = OpeningStep::kFind;
  EXPECT_EQ(Call(service_.get(), &EmbeddingService::CreateTable, &bad).code(),
            Code::kInvalidArgument);
  Do(OpeningStep::kOpen);
  bad.config = MakeConfig("t", kDim + 1);
  EXPECT_EQ(Call(service_.get(), &EmbeddingService::CreateTable, &bad).code(),
            Code::kAlreadyExists);
}

TEST_F(TableIdentityTest, IsTheOneThatWasAskedForUntilTheTableIsComplete) {
  OpenWithoutLog();
  EXPECT_EQ(Do(OpeningStep::kPrepare, 5).identity, 5u);
  EXPECT_EQ(Do(OpeningStep::kPrepare).identity, 5u);
  EXPECT_EQ(Do(OpeningStep::kPrepare, 6).identity, 6u);
  ExpectFound(6, TableState::kPrepared);
  Do(OpeningStep::kComplete, 5);
  EXPECT_EQ(outcome_.code(), Code::kFailedPrecondition);
  EXPECT_EQ(Do(OpeningStep::kComplete, 6).state, TableState::kComplete);
  EXPECT_EQ(Do(OpeningStep::kPrepare, 7).identity, 6u);
  ExpectFound(6);
}

TEST_F(TableIdentityTest, ATableThatWasNotPreparedIsNotCompleted) {
  OpenWithoutLog();
  Do(OpeningStep::kComplete, 5);
  EXPECT_EQ(outcome_.code(), Code::kFailedPrecondition);
  EXPECT_EQ(Found().state, TableState::kAbsent);
}

TEST_F(TableIdentityTest, WhoeverOpensAPreparedTableHasAllOfIt) {
  OpenWithoutLog();
  Do(OpeningStep::kPrepare, 5);
  EXPECT_EQ(Do(OpeningStep::kOpen).identity, 5u);
  ExpectFound(5);
}

TEST_F(TableIdentityTest, ARestoreGivesAnotherOneWhateverWasThere) {
  OpenWithoutLog();
  const uint64_t made = Do(OpeningStep::kOpen).identity;
  Save(1);
  Restore(1, 7);
  const uint64_t restored = Found().identity;
  EXPECT_NE(restored, made);
  OpenWithoutLog();
  Restore(1, 7);
  ExpectFound(restored);
  Restore(1, 8);
  EXPECT_NE(Found().identity, restored);
}

class RecoveredIdentityTest
    : public TableIdentityTest,
      public ::testing::WithParamInterface<RecoveryLevel> {
 protected:
  RecoveredIdentityTest() { Open(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Levels, RecoveredIdentityTest,
                         ::testing::Values(RecoveryLevel::kLog,
                                           RecoveryLevel::kCheckpoint));

TEST_P(RecoveredIdentityTest, ComesBackWithTheTable) {
  const uint64_t identity = Do(OpeningStep::kOpen).identity;
  ComeBack();
  ExpectFound(identity);
}

TEST_P(RecoveredIdentityTest, APreparedTableComesBackPrepared) {
  Do(OpeningStep::kPrepare, 4);
  Do(OpeningStep::kPrepare, 5);
  ComeBack();
  ExpectFound(5, TableState::kPrepared);
  Do(OpeningStep::kComplete, 5);
  ComeBack();
  ExpectFound(5);
}

TEST_P(RecoveredIdentityTest, ASaveChangesNothing) {
  const uint64_t identity = Do(OpeningStep::kOpen).identity;
  Train(service_.get(), "t", {1, 2});
  Save(1);
  const uint64_t later = Do(OpeningStep::kOpen, 0, "later").identity;
  ComeBack();
  EXPECT_EQ(RowsOf(service_.get(), "t").size(), 2u);
  ExpectFound(identity);
  EXPECT_EQ(Found("later").identity, later);
}

TEST_P(RecoveredIdentityTest, ComesBackAfterARestoreAndASave) {
  Do(OpeningStep::kOpen);
  Save(1);
  Restore(1, 7);
  const uint64_t restored = Found().identity;
  ComeBack();
  ExpectFound(restored);
  Save(2);
  ComeBack();
  ExpectFound(restored);
}

TEST_F(TableIdentityTest, IsInTheLogsBase) {
  Open(RecoveryLevel::kLog, /*base_bytes=*/1);
  const uint64_t identity = Do(OpeningStep::kOpen).identity;
  const std::string recovery = folder_ / "recovery";
  const auto has_base = [&] {
    const auto names = LocalFiles()->List(recovery);
    return names.ok() &&
           std::any_of(names->begin(), names->end(), [](const auto& name) {
             return name.rfind("base-", 0) == 0 &&
                    name.find('.') == std::string::npos;
           });
  };
  const Deadline give_up = DeadlineAfter(60);
  while (!has_base() && Clock::now() < give_up) {
    Train(service_.get(), "t", {1});
  }
  ASSERT_TRUE(has_base());
  ComeBack();
  ExpectFound(identity);
}

}  // namespace
}  // namespace persia
