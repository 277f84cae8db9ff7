// Following a local service through its checkpoints.

#include <gtest/gtest.h>

#include <string>

#include "tests/cc/service/changes_calls.h"
#include "tests/cc/shard/checkpoint_fixture.h"

namespace persia {
namespace {

class ChangesTest : public CheckpointFixture {
 protected:
  ChangesTest()
      : copy_([this](ChangesRequest* request) {
          return Call(service_.get(), &EmbeddingService::Changes, request);
        }) {
    Train(service_.get(), "t", Range(0, 100));
  }

  Status Commit(uint64_t save) {
    CheckpointRequest commit;
    commit.files = {FolderOf(save) + "/" + kShardFile};
    return Ask(CheckpointAction::kCommit, save, &commit);
  }

  void TrainOn(const Ids& ids) {
    ASSERT_TRUE(Step(service_.get(), "t", ids, Floats(ids.size() * kDim, 1.0f),
                     /*client=*/0, 0)
                    .ok());
  }

  void ExpectCopied() {
    Weights rows;
    for (const auto& [id, row] : Held()) rows[id] = row.weights;
    EXPECT_EQ(copy_["t"], rows);
  }

  Copy copy_;
};

TEST_F(ChangesTest, ARestoreBeginsAnew) {
  ASSERT_TRUE(Save(1).ok());
  copy_.CatchUp();
  Train(service_.get(), "t", Range(100, 200));
  TrainOn(Range(0, 50));
  copy_.CatchUp();
  ASSERT_TRUE(Restore(1).ok());
  copy_.CatchUp();
  EXPECT_EQ(copy_.began, Begins::kWhole);
  EXPECT_EQ(copy_["t"].size(), 100u);
  ExpectCopied();
}

TEST_F(ChangesTest, TellHowManyRequestsForRowsThereWere) {
  ChangesRequest changes;
  changes.position.follower = 9;
  changes.max_rows = 1;
  const auto ask = [&] {
    const Status status =
        Call(service_.get(), &EmbeddingService::Changes, &changes);
    EXPECT_TRUE(status.ok()) << status.message();
    return changes.requests;
  };
  const uint64_t before = ask();
  EXPECT_EQ(ask(), before);
  TrainOn(Range(0, 3));
  EXPECT_EQ(ask(), before + 1);
  Train(service_.get(), "t", Range(0, 3));
  EXPECT_GT(ask(), before + 1);
}

TEST_F(ChangesTest, OneThatHasTheLastSaveIsToldWhatChangedSince) {
  ASSERT_TRUE(Save(1).ok());
  ASSERT_TRUE(Commit(1).ok());
  copy_.CatchUp();
  EXPECT_EQ(copy_.position.base_save, 1u);
  TrainOn({1, 2, 3});
  copy_.position.follower = 8;  // Another follower, with the same position.
  EXPECT_EQ(copy_.CatchUp(), 3u);
  EXPECT_EQ(copy_.began, Begins::kSinceSave);
  ExpectCopied();
}

TEST_F(ChangesTest, NoSaveCountsAfterARestore) {
  ASSERT_TRUE(Save(1).ok());
  ASSERT_TRUE(Commit(1).ok());
  copy_.CatchUp();
  ASSERT_TRUE(Restore(1).ok());
  copy_.CatchUp();
  EXPECT_EQ(copy_.began, Begins::kWhole);
  EXPECT_EQ(copy_.position.base_save, 0u);
  ExpectCopied();
}

TEST_F(ChangesTest, ChangeNothingAndCountAsNoUse) {
  const Rows before = Held();
  copy_.CatchUp();
  EXPECT_EQ(Held(), before);
}

TEST_F(ChangesTest, AnotherShardIsRefused) {
  copy_.shard = 1;
  const Status status = copy_.Poll();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "changes of one shard must be of shard 0, received 1");
}

}  // namespace
}  // namespace persia
