// Tables that are replaced while others still read them, or while the files
// that replace them are read.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "tests/cc/shard/checkpoint_fixture.h"

namespace persia {
namespace {

constexpr size_t kBaseBytes = 1 << 12;

RecoveryOptions LogIn(const std::string& folder) {
  RecoveryOptions recovery;
  recovery.journal.folder = folder;
  recovery.journal.sync = SyncMode::kSystem;
  recovery.journal.least_base_bytes = kBaseBytes;
  return recovery;
}

class ReplacedWhileReadTest : private HasFolder, public CheckpointFixture {
 protected:
  ReplacedWhileReadTest() : CheckpointFixture(LogIn(folder_.path())) {}

  uint64_t Generation() {
    StatsRequest stats;
    EXPECT_TRUE(Call(service_.get(), &EmbeddingService::Stats, &stats).ok());
    return stats.processes.at(0).generation;
  }

  // Trains until a base is due, which then waits for the device.
  void MakeABaseDue() {
    files_.HoldSyncs();
    Train(service_.get(), "t", Range(0, kBaseBytes));
    files_.WaitForHeldSync();
  }

  void WaitForGeneration(uint64_t generation) {
    const Deadline give_up = DeadlineAfter(60);
    while (Generation() != generation) ASSERT_LT(Clock::now(), give_up);
  }
};

TEST_F(ReplacedWhileReadTest, ARestoreComesWhileTheBaseOfItsTablesIsWritten) {
  Train(service_.get(), "t", Range(0, 10));
  const Rows saved = Held();
  ASSERT_TRUE(Save(1).ok());
  MakeABaseDue();
  Status restored;
  std::thread restore([&] { restored = Restore(1); });
  WaitForGeneration(1);
  EXPECT_EQ(Held(), saved);
  files_.ReleaseSyncs();
  restore.join();
  EXPECT_TRUE(restored.ok()) << restored.message();
  EXPECT_EQ(Held(), saved);
}

TEST_F(ReplacedWhileReadTest, ATableIsDroppedWhileItsBaseIsWritten) {
  MakeABaseDue();
  DropTableRequest drop;
  drop.table = HashName("t");
  drop.drop_id = 1;
  drop.deadline = DeadlineAfter(60);
  ASSERT_TRUE(Call(service_.get(), &EmbeddingService::DropTable, &drop).ok());
  files_.ReleaseSyncs();
}

// The rows that were read have the optimizer that the table had then.
TEST_F(ReplacedWhileReadTest, ATableThatChangedSinceItWasReadIsNotReplaced) {
  Train(service_.get(), "t", Range(0, 10));
  ASSERT_TRUE(Save(1).ok());
  CheckpointRequest begin;
  begin.files = {FolderOf(1) + "/" + kShardFile};
  ASSERT_TRUE(Ask(CheckpointAction::kRestore, 1, &begin).ok());
  ASSERT_TRUE(WaitForJob().ok());
  CreateTableRequest other;
  other.config = MakeConfig("t", kDim, "uniform", "sgd");
  other.replaces_optimizer = true;
  other.deadline = DeadlineAfter(60);
  ASSERT_TRUE(
      Call(service_.get(), &EmbeddingService::CreateTable, &other).ok());
  Train(service_.get(), "t", Range(0, 20));
  const Rows held = Held();
  CheckpointRequest swap;
  swap.generation = 1;
  const Status status = Ask(CheckpointAction::kSwap, 1, &swap);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            "table \"t\" was created, dropped, cleared or given another "
            "optimizer while the checkpoint was read: restore it again");
  EXPECT_EQ(Held(), held);
  // The restore is over: there is nothing left to swap in.
  EXPECT_EQ(Ask(CheckpointAction::kSwap, 1, &swap).code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(Held(), held);
  EXPECT_EQ(Generation(), 0u);
  ASSERT_TRUE(Restore(1).ok());
  EXPECT_EQ(Held().size(), 10u);
}

}  // namespace
}  // namespace persia
