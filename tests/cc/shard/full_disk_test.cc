// A device is full while a checkpoint is written: the save fails, and the
// earlier checkpoint stays as it was.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cc/shard/checkpoint_fixture.h"

namespace persia {
namespace {

using FullDiskTest = CheckpointFixture;

TEST_F(FullDiskTest, WhereverItIsFullTheEarlierCheckpointStays) {
  Train(service_.get(), "t", Range(0, 10));
  const Rows first = Held();
  ASSERT_TRUE(Save(1).ok());
  Train(service_.get(), "t", Range(10, 20));
  const Rows second = Held();
  const MemoryImage before = files_.image();
  uint64_t failures = 0;
  bool was_whole = false;
  for (uint64_t room = 0; !was_whole; ++room) {
    ASSERT_LT(room, 10000u);
    files_.FailWritesAfter(room);
    const Status saved = Save(2);
    files_.FailWritesAfter(UINT64_MAX);
    was_whole = saved.ok();
    if (was_whole) break;
    ++failures;
    ASSERT_EQ(saved.code(), Code::kResourceExhausted) << saved.message();
    ASSERT_FALSE(HasManifest(2)) << "room for " << room;
    MemoryImage after = files_.image();
    for (const auto& [path, file] : before) {
      ASSERT_EQ(after[path].bytes, file.bytes) << path;
    }
    ASSERT_EQ(Held(), second) << "room for " << room;
    CheckpointRequest forget;
    ASSERT_TRUE(Ask(CheckpointAction::kForget, 0, &forget).ok());
  }
  EXPECT_GT(failures, 500u);
  EXPECT_TRUE(HasManifest(2));
  ASSERT_TRUE(Restore(1).ok());
  EXPECT_EQ(Held(), first);
  ASSERT_TRUE(Restore(2).ok());
  EXPECT_EQ(Held(), second);
}

// As after a crash: no error was reported, and the file was not removed.
TEST_F(FullDiskTest, AFileThatIsCutAnywhereIsNotTakenForWhole) {
  Train(service_.get(), "t", Range(0, 10));
  ASSERT_TRUE(Save(1).ok());
  const Rows held = Held();
  const std::string path = "/root/" + FolderOf(1) + "/" + kShardFile;
  const std::vector<uint8_t> whole = files_.image()[path].bytes;
  for (size_t size = 0; size < whole.size(); ++size) {
    ASSERT_TRUE(
        files_.WriteWhole(path, Span<const uint8_t>(whole).first(size)).ok());
    const Status restored = Restore(1);
    ASSERT_EQ(restored.code(), Code::kDataLoss) << size << " bytes";
    ASSERT_EQ(Held(), held);
    CheckpointRequest forget;
    ASSERT_TRUE(Ask(CheckpointAction::kForget, 0, &forget).ok());
  }
  ASSERT_TRUE(files_.WriteWhole(path, whole).ok());
  EXPECT_TRUE(Restore(1).ok());
}

TEST_F(FullDiskTest, TheOperatorIsTold) {
  Train(service_.get(), "t", Range(0, 10));
  ASSERT_TRUE(Save(1).ok());
  files_.FailWritesAfter(10);
  ASSERT_FALSE(Save(2).ok());
  std::vector<std::string> texts;
  while (auto event = events_.Take(Clock::now())) texts.push_back(event->text);
  ASSERT_EQ(texts.size(), 5u);
  EXPECT_EQ(texts[0].substr(0, 14), "made table \"t\"");
  EXPECT_EQ(texts[1],
            "began writing checkpoint 1 of 1 tables to /root/ckpt-1/"
            "shard-00000 (10 rows)");
  EXPECT_EQ(texts[2].substr(0, 77),
            "ended writing checkpoint 1 of 1 tables to /root/ckpt-1/"
            "shard-00000: 10 rows, ");
  EXPECT_EQ(texts[4].substr(0, 75),
            "failed writing checkpoint 2 of 1 tables to /root/ckpt-2/"
            "shard-00000 after 0");
}

}  // namespace
}  // namespace persia
