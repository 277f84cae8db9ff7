// A service with a table "t", whose checkpoints are in memory.

#ifndef PERSIA_TESTS_CC_SHARD_CHECKPOINT_FIXTURE_H_
#define PERSIA_TESTS_CC_SHARD_CHECKPOINT_FIXTURE_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "cc/shard/local_service.h"
#include "tests/cc/files/temporary_folder.h"
#include "tests/cc/log/memory_files.h"
#include "tests/cc/service/service_calls.h"
#include "tests/cc/store/make_config.h"

namespace persia {

inline constexpr char kShardFile[] = "shard-00000";

// A base class of a fixture, so that the folder is made before
// CheckpointFixture, which may recover from it.
class HasFolder {
 protected:
  TemporaryFolder folder_;
};

class CheckpointFixture : public ::testing::Test {
 protected:
  // With a recovery folder, which is in memory except for its lock.
  explicit CheckpointFixture(const RecoveryOptions& recovery = {}) {
    LocalServiceOptions options;
    options.recovery = recovery;
    options.recovery.journal.files = &files_;
    options.checkpoints.files = &files_;
    options.checkpoints.root = "/root";
    options.events = &events_;
    service_ = std::move(*OpenLocalService(options));
    EXPECT_TRUE(
        Create(service_.get(), MakeConfig("t", kDim, "uniform", "adagrad"))
            .ok());
  }

  Status Ask(CheckpointAction action, uint64_t save,
             CheckpointRequest* request) {
    request->action = action;
    request->save_id = save;
    request->folder = FolderOf(save);
    request->deadline = DeadlineAfter(60);
    return Call(service_.get(), &EmbeddingService::Checkpoint, request);
  }

  Status Ask(FilesAction action, uint64_t save, FilesRequest* request) {
    request->action = action;
    request->folder = FolderOf(save);
    request->deadline = DeadlineAfter(60);
    return Call(service_.get(), &EmbeddingService::Files, request);
  }

  static std::string FolderOf(uint64_t save) {
    return "ckpt-" + std::to_string(save);
  }

  // Waits for the save or restore that was begun; returns its outcome.
  Status WaitForJob() {
    for (;;) {
      CheckpointRequest progress;
      const Status asked = Ask(CheckpointAction::kProgress, 0, &progress);
      if (!asked.ok()) return asked;
      const CheckpointProgress& shard = progress.shards.at(0);
      if (shard.state == CheckpointProgress::State::kEnded) {
        return shard.outcome;
      }
    }
  }

  // Saves as programs do: first the rows, and the manifest last.
  Status Save(uint64_t save) {
    CheckpointRequest begin;
    PERSIA_RETURN_IF_ERROR(Ask(CheckpointAction::kSave, save, &begin));
    PERSIA_RETURN_IF_ERROR(WaitForJob());
    FilesRequest manifest;
    manifest.files = {"MANIFEST.json"};
    manifest.contents.assign(40, static_cast<uint8_t>('0' + save));
    return Ask(FilesAction::kWrite, save, &manifest);
  }

  bool HasManifest(uint64_t save) {
    FilesRequest list;
    EXPECT_TRUE(Ask(FilesAction::kList, save, &list).ok());
    for (const std::string& name : list.names) {
      if (name == "MANIFEST.json") return true;
    }
    return false;
  }

  Status Restore(uint64_t save) {
    CheckpointRequest begin;
    begin.files = {FolderOf(save) + "/" + kShardFile};
    PERSIA_RETURN_IF_ERROR(Ask(CheckpointAction::kRestore, save, &begin));
    PERSIA_RETURN_IF_ERROR(WaitForJob());
    CheckpointRequest swap;
    swap.generation = ++generation_;
    return Ask(CheckpointAction::kSwap, save, &swap);
  }

  Rows Held() { return RowsOf(service_.get(), "t"); }

  MemoryFiles files_;
  EventLog events_;
  std::unique_ptr<EmbeddingService> service_;
  uint64_t generation_ = 0;
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SHARD_CHECKPOINT_FIXTURE_H_
