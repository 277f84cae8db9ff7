#include "cc/saving/checkpoints.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cc/base/hash.h"
#include "cc/shard/local_service.h"
#include "tests/cc/files/temporary_folder.h"
#include "tests/cc/store/make_config.h"
#include "tests/cc/support/call_result.h"

namespace persia {
namespace {

using Action = CheckpointAction;
using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;
// Each row's only weight.
using Rows = std::map<int64_t, float>;

constexpr auto kDeadline = std::chrono::seconds(60);

// A shard with a table "a" of dim 1, whose weights tests assign.
class CheckpointsTest : public ::testing::Test {
 protected:
  CheckpointsTest() { Restart(); }

  void Restart() {
    CheckpointOptions options;
    options.root = folder_ / "";
    LocalServiceOptions local;
    local.checkpoints = options;
    local.recovery.journal.folder = journal_;
    service_.reset();
    auto service = OpenLocalService(local);
    ASSERT_TRUE(service.ok()) << service.status().message();
    service_ = std::move(*service);
    Create("a");
  }

  template <typename Request>
  Status Call(void (EmbeddingService::*method)(Request*, DoneCallback),
              Request* request) {
    request->deadline = DeadlineAfter(60);
    CallResult result;  // A shard with a log answers later.
    (service_.get()->*method)(request, result.done());
    return result.Wait();
  }

  void Create(const std::string& name) {
    CreateTableRequest request;
    request.config = MakeConfig(name, 1, "ones", "sgd");
    ASSERT_TRUE(Call(&EmbeddingService::CreateTable, &request).ok());
  }

  void Set(const Ids& ids, float value, const std::string& table = "a") {
    const Floats weights(ids.size(), value);
    AssignRequest request;
    request.table = HashName(table);
    request.dim = 1;
    request.ids = ids;
    request.weights = weights;
    ASSERT_TRUE(Call(&EmbeddingService::Assign, &request).ok());
  }

  void Remove(const Ids& ids) {
    RemoveRequest request;
    request.table = HashName("a");
    request.ids = ids;
    ASSERT_TRUE(Call(&EmbeddingService::Remove, &request).ok());
  }

  Rows All(const std::string& table = "a") {
    ExportRequest request;
    request.table = HashName(table);
    request.max_rows = 100000;
    Rows rows;
    while (!request.cursor.at_end()) {
      EXPECT_TRUE(Call(&EmbeddingService::Export, &request).ok());
      for (size_t i = 0; i < request.page.ids.size(); ++i) {
        rows[request.page.ids[i]] = request.page.weights[i];
      }
    }
    return rows;
  }

  Status Ask(CheckpointRequest* request) {
    return Call(&EmbeddingService::Checkpoint, request);
  }

  Status Ask(Action action, uint64_t save_id, uint64_t parent_id = 0) {
    CheckpointRequest request;
    request.action = action;
    request.save_id = save_id;
    request.parent_id = parent_id;
    request.folder = FolderOf(save_id);
    return Ask(&request);
  }

  static std::string FolderOf(uint64_t save_id) {
    return "save" + std::to_string(save_id);
  }

  CheckpointProgress Progress(uint64_t save_id = 0) {
    CheckpointRequest request;
    request.action = Action::kProgress;
    request.save_id = save_id;
    EXPECT_TRUE(Ask(&request).ok());
    return request.shards[0];
  }

  Status WaitForEnd() {
    const auto end = std::chrono::steady_clock::now() + kDeadline;
    while (Progress().state == CheckpointProgress::State::kRunning) {
      if (std::chrono::steady_clock::now() > end) {
        return Status(Code::kDeadlineExceeded, "it does not end");
      }
      std::this_thread::yield();
    }
    return Progress().outcome;
  }

  // Writes a whole save or an increment; returns its size.
  uint64_t Save(uint64_t save_id, uint64_t parent_id = 0) {
    const Status begun = Ask(Action::kSave, save_id, parent_id);
    EXPECT_TRUE(begun.ok()) << begun.message();
    const Status ended = WaitForEnd();
    EXPECT_TRUE(ended.ok()) << ended.message();
    return Progress().bytes;
  }

  void SaveAndCommit(uint64_t save_id, uint64_t parent_id = 0) {
    Save(save_id, parent_id);
    const Status status = Ask(Action::kCommit, save_id);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(Ask(Action::kForget, save_id).ok());
  }

  // Restores a chain of saves, the oldest of which is first.
  Status Restore(const std::vector<uint64_t>& chain) {
    CheckpointRequest request;
    request.action = Action::kRestore;
    request.save_id = chain.back();
    request.folder = FolderOf(chain.back());
    for (const uint64_t save : chain) {
      request.files.push_back(FolderOf(save) + "/shard-00000");
    }
    PERSIA_RETURN_IF_ERROR(Ask(&request));
    PERSIA_RETURN_IF_ERROR(WaitForEnd());
    request.action = Action::kSwap;
    request.generation = ++generation_;
    return Ask(&request);
  }

  void ExpectRestored(const std::vector<uint64_t>& chain, const Rows& rows) {
    Restart();
    const Status status = Restore(chain);
    ASSERT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(All(), rows);
  }

  const TemporaryFolder folder_;
  std::string journal_;  // If empty, there is no log.
  uint64_t generation_ = 0;
  std::unique_ptr<EmbeddingService> service_;
};

Ids Upto(int64_t count) {
  Ids ids;
  for (int64_t id = 0; id < count; ++id) ids.push_back(id);
  return ids;
}

TEST_F(CheckpointsTest, AChainIsRestored) {
  Set(Upto(1000), 1);
  SaveAndCommit(1);
  Set({1, 2, 1000}, 2);
  Remove({3, 4});
  SaveAndCommit(2, 1);
  Set({2, 4}, 3);
  Remove({1});
  SaveAndCommit(3, 2);
  const Rows rows = All();
  ASSERT_EQ(rows.size(), 999u);
  ExpectRestored({1, 2, 3}, rows);
}

TEST_F(CheckpointsTest, AnIncrementIsOfTheSaveThatWasCommittedLast) {
  Set({1}, 1);
  EXPECT_EQ(Progress().base_id, 0u);
  EXPECT_EQ(Ask(Action::kSave, 1, 77).code(), Code::kFailedPrecondition);
  Save(1);
  EXPECT_EQ(Progress().base_id, 0u);
  ASSERT_TRUE(Ask(Action::kCommit, 1).ok());
  EXPECT_EQ(Progress().base_id, 1u);
  ASSERT_TRUE(Ask(Action::kCommit, 1).ok()) << "again";
  Save(2, 1);
  EXPECT_EQ(Progress().base_id, 1u);
  ASSERT_TRUE(Ask(Action::kCommit, 2).ok());
  EXPECT_EQ(Progress().base_id, 2u);
  EXPECT_EQ(Ask(Action::kSave, 3, 1).code(), Code::kFailedPrecondition);
}

TEST_F(CheckpointsTest, ASaveThatIsNotCommittedLosesNothing) {
  Set(Upto(100), 1);
  SaveAndCommit(1);
  Set({1}, 2);
  Remove({2});
  Save(2, 1);
  Set({3}, 3);
  ASSERT_TRUE(Ask(Action::kForget, 2).ok());
  EXPECT_EQ(Ask(Action::kCommit, 2).code(), Code::kFailedPrecondition);
  Save(3, 1);  // Cannot be committed either.
  Set({4}, 4);
  SaveAndCommit(4, 1);
  const Rows rows = All();
  ExpectRestored({1, 4}, rows);
}

TEST_F(CheckpointsTest, ASaveThatCannotBeWrittenLosesNothing) {
  Set(Upto(100), 1);
  SaveAndCommit(1);
  Set({1}, 2);
  Remove({2});
  // A folder has the place of the file that the save will write.
  ASSERT_TRUE(LocalFiles()->MakeFolder(folder_ / "save2/shard-00000/x").ok());
  ASSERT_TRUE(Ask(Action::kSave, 2, 1).ok());
  EXPECT_FALSE(WaitForEnd().ok());
  EXPECT_EQ(Ask(Action::kCommit, 2).code(), Code::kFailedPrecondition);
  ASSERT_TRUE(Ask(Action::kForget, 2).ok());
  SaveAndCommit(3, 1);
  const Rows rows = All();
  ExpectRestored({1, 3}, rows);
}

TEST_F(CheckpointsTest, AWholeSaveThatFailsDoesNotEndTheChain) {
  Set(Upto(100), 1);
  SaveAndCommit(1);
  Set({1}, 2);
  Save(2);
  ASSERT_TRUE(Ask(Action::kForget, 2).ok());
  Set({2}, 2);
  SaveAndCommit(3, 1);
  const Rows rows = All();
  ExpectRestored({1, 3}, rows);
}

TEST_F(CheckpointsTest, ACommitThatComesTooLateIsRefused) {
  SaveAndCommit(1);
  Save(2, 1);
  Save(3, 1);
  EXPECT_EQ(Ask(Action::kCommit, 2).code(), Code::kFailedPrecondition);
  EXPECT_TRUE(Ask(Action::kCommit, 3).ok());
}

TEST_F(CheckpointsTest, ARestoreOrARestartEndsTheChain) {
  Set(Upto(10), 1);
  SaveAndCommit(1);
  ASSERT_TRUE(Restore({1}).ok());
  EXPECT_EQ(Progress().base_id, 0u);
  EXPECT_EQ(Ask(Action::kSave, 2, 1).code(), Code::kFailedPrecondition);
  SaveAndCommit(3);
  EXPECT_EQ(Progress().base_id, 3u);
  Set({3}, 3);
  SaveAndCommit(4, 3);
  const Rows rows = All();
  ExpectRestored({3, 4}, rows);
  EXPECT_EQ(Progress().base_id, 0u);
}

TEST_F(CheckpointsTest, ATableThatIsMadeBetweenIsWholeInTheNext) {
  Set(Upto(10), 1);
  SaveAndCommit(1);
  Create("0");
  Set(Upto(20), 2, "0");
  Save(2, 1);  // Not committed, so it does not count.
  Set({1}, 3, "0");
  SaveAndCommit(3, 1);
  Set({2}, 4, "0");
  SaveAndCommit(4, 3);
  const Rows rows = All("0");
  ExpectRestored({1, 3, 4}, All());
  EXPECT_EQ(All("0"), rows);
}

TEST_F(CheckpointsTest, OnlyTheSaveThatIsNamedIsForgotten) {
  Set(Upto(10), 1);
  Save(1);
  ASSERT_TRUE(Ask(Action::kForget, 2).ok());
  EXPECT_EQ(Progress().state, CheckpointProgress::State::kEnded);
  EXPECT_TRUE(Ask(Action::kCommit, 1).ok());
  ASSERT_TRUE(Ask(Action::kForget, 1).ok());
  EXPECT_EQ(Progress().state, CheckpointProgress::State::kIdle);
  Save(2);
  ASSERT_TRUE(Ask(Action::kForget, 0).ok());
  EXPECT_EQ(Progress().state, CheckpointProgress::State::kIdle);
}

TEST_F(CheckpointsTest, TheProgressIsThatOfTheSaveThatIsNamed) {
  Set(Upto(10), 1);
  Save(1);
  EXPECT_EQ(Progress(1).rows, 10u);
  EXPECT_EQ(Progress(1).state, CheckpointProgress::State::kEnded);
  EXPECT_EQ(Progress(2).rows, 0u);
  EXPECT_EQ(Progress(2).state, CheckpointProgress::State::kIdle);
  EXPECT_EQ(Progress(2).file, Progress(1).file);
}

TEST_F(CheckpointsTest, AShardComesBackWithAChainThatItRestored) {
  Set(Upto(100), 1);
  SaveAndCommit(1);
  Set({1}, 2);
  Remove({2});
  SaveAndCommit(2, 1);
  journal_ = folder_ / "recovery";
  Restart();
  ASSERT_TRUE(Restore({1, 2}).ok());
  Set({5}, 9);
  const Rows rows = All();
  ASSERT_EQ(rows.size(), 99u);
  Restart();
  EXPECT_EQ(All(), rows);
  EXPECT_EQ(Progress().base_id, 0u);
}

TEST_F(CheckpointsTest, AFileOutsideTheRootIsNotRead) {
  CheckpointRequest request;
  request.action = Action::kRestore;
  request.save_id = 1;
  request.folder = FolderOf(1);
  for (const char* path : {"../x", "/etc/passwd", "a/./b", ""}) {
    request.files = {path};
    EXPECT_EQ(Ask(&request).code(), Code::kInvalidArgument) << path;
  }
}

TEST_F(CheckpointsTest, UpdatesGoOnWhileChainsAreSaved) {
  Set(Upto(2000), 0);
  SaveAndCommit(1);
  std::vector<uint64_t> chain = {1};
  float value = 0;
  for (uint64_t save = 2; save < 8; ++save) {
    for (int64_t id = 0; id < 50; ++id) {
      Set({(id * 37 + static_cast<int64_t>(save) * 11) % 2000}, ++value);
    }
    Remove({static_cast<int64_t>(save)});
    const Rows then = All();
    ASSERT_TRUE(Ask(Action::kSave, save, chain.back()).ok());
    for (int64_t id = 0; id < 200; ++id) Set({id * 7}, ++value);
    Remove(Upto(20));
    ASSERT_TRUE(WaitForEnd().ok());
    ASSERT_TRUE(Ask(Action::kCommit, save).ok());
    chain.push_back(save);
    // A new store gets what was saved.
    auto trained = std::move(service_);
    ExpectRestored(chain, then);
    service_ = std::move(trained);
  }
}

}  // namespace
}  // namespace persia
