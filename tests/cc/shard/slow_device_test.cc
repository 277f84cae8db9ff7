// What a shard does while its device takes for ever to write a checkpoint.

#include <gtest/gtest.h>

#include <string>
#include <thread>

#include "tests/cc/shard/checkpoint_fixture.h"

namespace persia {
namespace {

using SlowDeviceTest = CheckpointFixture;

// The original PERSIA held a shard's lock while it wrote, so training stopped.
TEST_F(SlowDeviceTest, TrainingGoesOn) {
  Train(service_.get(), "t", Range(0, 10));
  const Rows saved = Held();
  files_.HoldSyncs();
  CheckpointRequest begin;
  ASSERT_TRUE(Ask(CheckpointAction::kSave, 1, &begin).ok());
  files_.WaitForHeldSync();
  Train(service_.get(), "t", Range(0, 20));
  UpdateCounts counts;
  ASSERT_TRUE(Step(service_.get(), "t", Range(0, 20), Floats(20 * kDim, 1), 7,
                   1, &counts)
                  .ok());
  EXPECT_EQ(counts.applied, 20u);
  EXPECT_EQ(Held().size(), 20u);
  files_.ReleaseSyncs();
  ASSERT_TRUE(WaitForJob().ok());
  ASSERT_TRUE(Restore(1).ok());
  EXPECT_EQ(Held(), saved);
}

TEST_F(SlowDeviceTest, AShardThatEndsAmidASaveLeavesTheEarlierOne) {
  Train(service_.get(), "t", Range(0, 10));
  const Rows saved = Held();
  ASSERT_TRUE(Save(1).ok());
  MemoryImage before = files_.image();
  Train(service_.get(), "t", Range(10, 20));
  files_.HoldSyncs();
  CheckpointRequest begin;
  ASSERT_TRUE(Ask(CheckpointAction::kSave, 2, &begin).ok());
  files_.WaitForHeldSync();
  std::thread end([&] { service_.reset(); });
  files_.ReleaseSyncs();
  end.join();
  MemoryImage after = files_.image();
  for (const auto& [path, file] : before) {
    EXPECT_EQ(after[path].bytes, file.bytes) << path;
  }
  EXPECT_EQ(after.count("/root/ckpt-2/MANIFEST.json"), 0u);
}

}  // namespace
}  // namespace persia
