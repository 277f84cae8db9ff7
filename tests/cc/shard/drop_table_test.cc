// Tables that are dropped or cleared: what is left of them in a service, in its
// checkpoints, in its journal, in caches, and in the copies of followers.

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cc/service/caching_service.h"
#include "cc/shard/local_service.h"
#include "tests/cc/files/temporary_folder.h"
#include "tests/cc/service/changes_calls.h"
#include "tests/cc/service/service_calls.h"
#include "tests/cc/shard/checkpoint_fixture.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

std::atomic<uint64_t> next_drop_id{1};

Status Drop(EmbeddingService* service, const std::string& table,
            bool stays = false, uint64_t drop_id = 0) {
  DropTableRequest request;
  request.deadline = DeadlineAfter(60);
  request.table = HashName(table);
  request.stays = stays;
  request.drop_id = drop_id == 0 ? next_drop_id++ : drop_id;
  return Call(service, &EmbeddingService::DropTable, &request);
}

Status Clear(EmbeddingService* service, const std::string& table) {
  return Drop(service, table, /*stays=*/true);
}

TableConfig Adagrad(const std::string& name, uint32_t dim = kDim) {
  return MakeConfig(name, dim, "uniform", "adagrad");
}

void TrainOn(EmbeddingService* service, const std::string& table,
             const Ids& ids) {
  Train(service, table, ids);
  EXPECT_TRUE(Step(service, table, ids, Floats(ids.size() * kDim, 1.0f),
                   /*client=*/0, 0)
                  .ok());
}

std::vector<std::string> TablesOf(EmbeddingService* service) {
  StatsRequest stats;
  EXPECT_TRUE(Call(service, &EmbeddingService::Stats, &stats).ok());
  std::vector<std::string> names;
  for (const TableStats& table : stats.processes.at(0).tables) {
    names.push_back(table.name);
  }
  return names;
}

using Names = std::vector<std::string>;

class DropTableTest : public CheckpointFixture {
 protected:
  EmbeddingService* service() { return service_.get(); }

  // Commits a save, as programs do once the manifest is written.
  Status Commit(uint64_t save) {
    CheckpointRequest commit;
    commit.files = {FolderOf(save) + "/" + kShardFile};
    return Ask(CheckpointAction::kCommit, save, &commit);
  }

  Status SaveIncrement(uint64_t save, uint64_t parent) {
    CheckpointRequest begin;
    begin.parent_id = parent;
    PERSIA_RETURN_IF_ERROR(Ask(CheckpointAction::kSave, save, &begin));
    return WaitForJob();
  }
};

TEST_F(DropTableTest, ADroppedTableIsGoneAndCanBeMadeWithOtherSettings) {
  TrainOn(service(), "t", {1, 2});
  ASSERT_TRUE(Drop(service(), "t").ok());
  EXPECT_EQ(TablesOf(service()), Names());
  ASSERT_TRUE(Create(service(), Adagrad("t", 7)).ok());
  EXPECT_EQ(Held().size(), 0u);
}

TEST_F(DropTableTest, AClearedTableStaysWithItsSettingsAndBeginsAnew) {
  const Floats initial = Train(service(), "t", {1, 2});
  TrainOn(service(), "t", {1, 2});
  ASSERT_TRUE(Clear(service(), "t").ok());
  EXPECT_EQ(TablesOf(service()), Names{"t"});
  EXPECT_EQ(Held().size(), 0u);
  EXPECT_EQ(Create(service(), Adagrad("t", 7)).code(), Code::kAlreadyExists);
  EXPECT_EQ(Train(service(), "t", {1, 2}), initial);
}

TEST_F(DropTableTest, WhatComesLaterForADroppedTableIsToldSo) {
  TrainOn(service(), "t", {1});
  ASSERT_TRUE(Drop(service(), "t").ok());
  LookupRequest lookup;
  const Ids ids = {1};
  Floats rows(kDim);
  lookup.tables = {{IdsOf("t", ids), rows}};
  for (const Status& status :
       {Call(service(), &EmbeddingService::Lookup, &lookup),
        Step(service(), "t", ids, rows, /*client=*/3, 1)}) {
    EXPECT_EQ(status.code(), Code::kNotFound);
    EXPECT_NE(status.message().find("table \"t\" was dropped"),
              std::string::npos)
        << status.message();
  }
  ASSERT_TRUE(Create(service(), Adagrad("t")).ok());
  // The refused update did not count as applied.
  EXPECT_TRUE(Step(service(), "t", ids, rows, /*client=*/3, 1).ok());
}

TEST_F(DropTableTest, ARequestThatArrivesAgainDropsNoTableThatWasMadeAnew) {
  ASSERT_TRUE(Drop(service(), "t", /*stays=*/false, /*drop_id=*/99).ok());
  ASSERT_TRUE(Create(service(), Adagrad("t")).ok());
  TrainOn(service(), "t", {1});
  ASSERT_TRUE(Drop(service(), "t", /*stays=*/false, /*drop_id=*/99).ok());
  EXPECT_EQ(Held().size(), 1u);
}

TEST_F(DropTableTest, ATableThatThereIsNotIsNoError) {
  EXPECT_TRUE(Drop(service(), "nothing").ok());
  EXPECT_TRUE(Clear(service(), "nothing").ok());
  EXPECT_EQ(TablesOf(service()), Names{"t"});
}

TEST_F(DropTableTest, NoIdIsRefused) {
  DropTableRequest request;
  request.table = HashName("t");
  request.deadline = DeadlineAfter(60);
  EXPECT_EQ(Call(service(), &EmbeddingService::DropTable, &request).code(),
            Code::kInvalidArgument);
}

TEST_F(DropTableTest, NoIncrementFollowsASaveFromBefore) {
  TrainOn(service(), "t", {1});
  ASSERT_TRUE(Save(1).ok());
  ASSERT_TRUE(Commit(1).ok());
  ASSERT_TRUE(Drop(service(), "t").ok());
  EXPECT_EQ(SaveIncrement(2, 1).code(), Code::kFailedPrecondition);
  ASSERT_TRUE(Save(3).ok());
  ASSERT_TRUE(Commit(3).ok());
  service_ = nullptr;
  LocalServiceOptions options;
  options.checkpoints.files = &files_;
  options.checkpoints.root = "/root";
  service_ = std::move(*OpenLocalService(options));
  ASSERT_TRUE(Restore(3).ok());
  EXPECT_EQ(TablesOf(service()), Names());
}

TEST_F(DropTableTest, IncrementsGoOnAfterTheNextWholeSave) {
  TrainOn(service(), "t", {1});
  ASSERT_TRUE(Save(1).ok());
  ASSERT_TRUE(Commit(1).ok());
  ASSERT_TRUE(Clear(service(), "t").ok());
  TrainOn(service(), "t", {2});
  ASSERT_TRUE(Save(2).ok());
  ASSERT_TRUE(Commit(2).ok());
  TrainOn(service(), "t", {3});
  ASSERT_TRUE(SaveIncrement(3, 2).ok());
  ASSERT_TRUE(Commit(3).ok());
}

TEST_F(DropTableTest, ASaveOfBeforeIsWholeAndCannotBeCommittedAfter) {
  TrainOn(service(), "t", {1, 2, 3});
  const Rows before = Held();
  ASSERT_TRUE(Save(1).ok());
  ASSERT_TRUE(Drop(service(), "t").ok());
  EXPECT_EQ(Commit(1).code(), Code::kFailedPrecondition);
  ASSERT_TRUE(Restore(1).ok());
  EXPECT_EQ(Held(), before);
}

// A reader of frozen rows keeps their table alive.
TEST_F(DropTableTest, ASaveThatReadsADroppedTableEndsWell) {
  Ids ids = Range(0, 50000);
  Train(service(), "t", ids);
  for (int round = 0; round < 5; ++round) {
    CheckpointRequest begin;
    const uint64_t save = 10 + static_cast<uint64_t>(round);
    ASSERT_TRUE(Ask(CheckpointAction::kSave, save, &begin).ok());
    ASSERT_TRUE(Drop(service(), "t").ok());
    ASSERT_TRUE(Create(service(), Adagrad("t")).ok());
    Train(service(), "t", ids);
    ASSERT_TRUE(WaitForJob().ok());
  }
}

TEST_F(DropTableTest, RequestsOfOtherThreadsAreAnsweredOrToldSo) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      const Ids ids = Range(0, 200);
      Floats rows(ids.size() * kDim);
      while (!stop) {
        LookupRequest lookup;
        lookup.tables = {{IdsOf("t", ids), rows}};
        const Status looked =
            Call(service(), &EmbeddingService::Lookup, &lookup);
        const Status stepped = Step(service(), "t", ids, rows, /*client=*/0, 0);
        for (const Status& status : {looked, stepped}) {
          EXPECT_TRUE(status.ok() || status.code() == Code::kNotFound)
              << status.message();
        }
      }
    });
  }
  for (int round = 0; round < 200; ++round) {
    EXPECT_TRUE(Drop(service(), "t", /*stays=*/round % 3 == 0).ok());
    EXPECT_TRUE(Create(service(), Adagrad("t")).ok());
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}

class DropFollowedTest : public DropTableTest {
 protected:
  Copy Follower(uint64_t number = 7) {
    return Copy(
        [this](ChangesRequest* request) {
          return Call(service(), &EmbeddingService::Changes, request);
        },
        number);
  }
};

TEST_F(DropFollowedTest, FollowersAreToldOfADroppedTable) {
  ASSERT_TRUE(Create(service(), Adagrad("u")).ok());
  TrainOn(service(), "t", {1, 2});
  TrainOn(service(), "u", {3});
  Copy copy = Follower();
  copy.CatchUp();
  ASSERT_TRUE(Drop(service(), "t").ok());
  EXPECT_TRUE(copy.Poll(1000, /*lost=*/true).ok());
  copy.CatchUp();
  EXPECT_EQ(copy.begins, Begins::kNothing);
  EXPECT_EQ(copy.tables(), std::set<std::string>{"u"});
  ASSERT_TRUE(Create(service(), Adagrad("t")).ok());
  TrainOn(service(), "t", {5});
  copy.CatchUp();
  EXPECT_EQ(copy["t"].size(), 1u);
  EXPECT_EQ(copy["t"].count(5), 1u);
}

TEST_F(DropFollowedTest, FollowersDropTheRowsOfAClearedTable) {
  TrainOn(service(), "t", {1, 2});
  Copy copy = Follower();
  copy.CatchUp();
  ASSERT_TRUE(Clear(service(), "t").ok());
  copy.CatchUp();
  EXPECT_EQ(copy["t"].size(), 0u);
  TrainOn(service(), "t", {2, 3});
  EXPECT_TRUE(copy.Poll(1000, /*lost=*/true).ok());
  ASSERT_TRUE(Clear(service(), "t").ok());
  TrainOn(service(), "t", {4});
  copy.CatchUp();
  EXPECT_EQ(copy["t"].size(), 1u);
  EXPECT_EQ(copy["t"].count(4), 1u);
}

TEST_F(DropFollowedTest, ATableMadeAnewBetweenTwoPollsBeginsAnew) {
  TrainOn(service(), "t", {1, 2});
  Copy copy = Follower();
  copy.CatchUp();
  ASSERT_TRUE(Drop(service(), "t").ok());
  ASSERT_TRUE(Create(service(), Adagrad("t")).ok());
  TrainOn(service(), "t", {9});
  copy.CatchUp();
  EXPECT_EQ(copy["t"].size(), 1u);
  EXPECT_EQ(copy["t"].count(9), 1u);
}

TEST_F(DropFollowedTest, OneThatWasAwayIsToldWhenItBegins) {
  TrainOn(service(), "t", {1, 2});
  Copy copy = Follower();
  copy.CatchUp();
  ASSERT_TRUE(Drop(service(), "t").ok());
  copy.position.epoch += 1;  // Now the shard does not know the follower.
  copy.CatchUp();
  EXPECT_EQ(copy.tables(), std::set<std::string>());
}

class DropJournaledTest : public ::testing::Test {
 protected:
  void Open(RecoveryLevel level, uint64_t base_bytes = 1 << 30) {
    service_ = nullptr;
    LocalServiceOptions options;
    options.checkpoints.root = folder_ / "checkpoints";
    options.recovery.journal.folder = folder_ / "recovery";
    options.recovery.journal.sync = SyncMode::kSystem;
    options.recovery.journal.least_base_bytes = base_bytes;
    options.recovery.level = level;
    auto service = OpenLocalService(options);
    ASSERT_TRUE(service.ok()) << service.status().message();
    service_ = std::move(*service);
  }

  EmbeddingService* service() { return service_.get(); }

  Status Ask(CheckpointAction action, uint64_t save,
             std::vector<std::string> files = {}) {
    CheckpointRequest request;
    request.action = action;
    request.save_id = save;
    request.folder = "ckpt";
    request.files = std::move(files);
    request.deadline = DeadlineAfter(60);
    return Call(service(), &EmbeddingService::Checkpoint, &request);
  }

  Status BeginSave(uint64_t save) {
    PERSIA_RETURN_IF_ERROR(Ask(CheckpointAction::kSave, save));
    for (;;) {
      CheckpointRequest progress;
      progress.action = CheckpointAction::kProgress;
      progress.deadline = DeadlineAfter(60);
      PERSIA_RETURN_IF_ERROR(
          Call(service(), &EmbeddingService::Checkpoint, &progress));
      const CheckpointProgress& shard = progress.shards.at(0);
      if (shard.state == CheckpointProgress::State::kEnded) {
        return shard.outcome;
      }
    }
  }

  Status Commit(uint64_t save) {
    return Ask(CheckpointAction::kCommit, save,
               {std::string("ckpt/") + kShardFile});
  }

  TemporaryFolder folder_;
  std::unique_ptr<EmbeddingService> service_;
};

TEST_F(DropJournaledTest, ADroppedTableDoesNotComeBackByTheLog) {
  Open(RecoveryLevel::kLog);
  ASSERT_TRUE(Create(service(), Adagrad("t")).ok());
  ASSERT_TRUE(Create(service(), Adagrad("u")).ok());
  TrainOn(service(), "t", {1, 2});
  TrainOn(service(), "u", {1, 2});
  ASSERT_TRUE(Drop(service(), "t").ok());
  ASSERT_TRUE(Clear(service(), "u").ok());
  TrainOn(service(), "u", {3});
  const Rows u = RowsOf(service(), "u");
  Open(RecoveryLevel::kLog);
  EXPECT_EQ(TablesOf(service()), Names{"u"});
  EXPECT_EQ(RowsOf(service(), "u"), u);
  // Another table of this name is made, with another width.
  ASSERT_TRUE(Create(service(), Adagrad("t", 5)).ok());
  Open(RecoveryLevel::kLog);
  EXPECT_EQ(TablesOf(service()), (Names{"t", "u"}));
  EXPECT_EQ(Create(service(), Adagrad("t")).code(), Code::kAlreadyExists);
}

TEST_F(DropJournaledTest, BasesThatAreWrittenMeanwhileAreRight) {
  Open(RecoveryLevel::kLog, /*base_bytes=*/1 << 12);
  const Ids ids = Range(0, 300);
  for (int round = 0; round < 60; ++round) {
    ASSERT_TRUE(Create(service(), Adagrad("t")).ok());
    TrainOn(service(), "t", ids);
    ASSERT_TRUE(Drop(service(), "t", /*stays=*/round % 2 == 0).ok());
  }
  ASSERT_TRUE(Create(service(), Adagrad("t")).ok());
  TrainOn(service(), "t", {7});
  const Rows rows = RowsOf(service(), "t");
  Open(RecoveryLevel::kLog, /*base_bytes=*/1 << 12);
  EXPECT_EQ(RowsOf(service(), "t"), rows);
}

TEST_F(DropJournaledTest, ADroppedTableDoesNotComeBackFromACheckpoint) {
  Open(RecoveryLevel::kCheckpoint);
  for (const char* name : {"t", "u", "v"}) {
    ASSERT_TRUE(Create(service(), Adagrad(name)).ok());
    TrainOn(service(), name, {1, 2});
  }
  ASSERT_TRUE(BeginSave(1).ok());
  ASSERT_TRUE(Commit(1).ok());
  ASSERT_TRUE(Drop(service(), "t").ok());
  ASSERT_TRUE(Clear(service(), "u").ok());
  Open(RecoveryLevel::kCheckpoint);
  EXPECT_EQ(TablesOf(service()), (Names{"u", "v"}));
  EXPECT_EQ(RowsOf(service(), "u").size(), 0u);
  EXPECT_EQ(RowsOf(service(), "v").size(), 2u);
  // The dropped table does not come back either after another one of its name
  // was made.
  ASSERT_TRUE(Create(service(), Adagrad("t", 5)).ok());
  Open(RecoveryLevel::kCheckpoint);
  EXPECT_EQ(TablesOf(service()), (Names{"t", "u", "v"}));
}

TEST_F(DropJournaledTest, NorFromOneThatWasBegunBefore) {
  Open(RecoveryLevel::kCheckpoint);
  ASSERT_TRUE(Create(service(), Adagrad("t")).ok());
  TrainOn(service(), "t", {1, 2});
  ASSERT_TRUE(BeginSave(1).ok());
  ASSERT_TRUE(Drop(service(), "t").ok());
  EXPECT_EQ(Commit(1).code(), Code::kFailedPrecondition);
  Open(RecoveryLevel::kCheckpoint);
  EXPECT_EQ(TablesOf(service()), Names());
}

class DropCachedTest : public ::testing::Test {
 protected:
  DropCachedTest() {
    CacheOptions options;
    options.rows = 1000;
    service_ = std::make_unique<CachingService>(MakeLocalService(), options);
    EXPECT_TRUE(Create(service_.get(), Adagrad("t")).ok());
  }

  Floats LookUp(const Ids& ids) {
    Floats rows(ids.size() * kDim);
    LookupRequest request;
    request.client = 5;
    request.tables = {{IdsOf("t", ids), rows}};
    const Status status = Call<LookupRequest>(
        service_.get(), &EmbeddingService::Lookup, &request);
    EXPECT_TRUE(status.ok()) << status.message();
    return rows;
  }

  std::unique_ptr<CachingService> service_;
};

TEST_F(DropCachedTest, NoCopyOfAClearedTableAnswers) {
  const Floats initial = LookUp({1});
  const Ids ids = {1};
  const Floats weights(kDim, 7.0f);
  AssignRequest assign;
  assign.table = HashName("t");
  assign.dim = kDim;
  assign.ids = ids;
  assign.weights = weights;
  ASSERT_TRUE(
      Call<AssignRequest>(service_.get(), &EmbeddingService::Assign, &assign)
          .ok());
  EXPECT_EQ(LookUp({1}), weights);
  ASSERT_TRUE(Clear(service_.get(), "t").ok());
  EXPECT_EQ(LookUp({1}), initial);
}

TEST_F(DropCachedTest, ATableThatIsMadeAnewWithAnotherWidthIsCachedAgain) {
  LookUp({1});
  ASSERT_TRUE(Drop(service_.get(), "t").ok());
  EXPECT_EQ(service_->tables().size(), 0u);
  ASSERT_TRUE(Create(service_.get(), Adagrad("t", 5)).ok());
  ASSERT_EQ(service_->tables().size(), 1u);
  EXPECT_EQ(service_->tables()[0].dim, 5u);
}

}  // namespace
}  // namespace persia
