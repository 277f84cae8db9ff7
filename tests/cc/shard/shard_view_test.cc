// Programs that give one server different places in their clusters.

#include <gtest/gtest.h>

#include <string>

#include "tests/cc/shard/checkpoint_fixture.h"

namespace persia {
namespace {

TableConfig OfShard(const std::string& name, uint32_t index, uint32_t count) {
  TableConfig config = MakeConfig(name, kDim, "uniform", "adagrad");
  config.shard_index = index;
  config.shard_count = count;
  return config;
}

// The fixture's table "t" is of shard 0 of 1.
class ShardViewTest : public CheckpointFixture {
 protected:
  Status Open(const TableConfig& config, OpeningStep step) {
    CreateTableRequest request;
    request.config = config;
    request.step = step;
    return Call(service_.get(), &EmbeddingService::CreateTable, &request);
  }

  Status AskAsShard(uint32_t index, uint32_t count, CheckpointAction action,
                    uint64_t save) {
    CheckpointRequest request;
    request.shard_index = index;
    request.shard_count = count;
    request.generation = 1;
    if (action == CheckpointAction::kRestore) {
      request.files = {FolderOf(save) + "/" + kShardFile};
    }
    return Ask(action, save, &request);
  }
};

TEST_F(ShardViewTest, ATableOfAnotherShardIsRefusedByNameOfBoth) {
  for (const OpeningStep step :
       {OpeningStep::kFind, OpeningStep::kPrepare, OpeningStep::kOpen}) {
    const Status status = Open(OfShard("other/items", 1, 2), step);
    EXPECT_EQ(status.code(), Code::kFailedPrecondition);
    EXPECT_EQ(
        status.message(),
        "table \"other/items\" expects this server to be shard 1 of 2, but "
        "it is shard 0 of 1 for the program that created table \"t\": let "
        "both programs list the same shards in the same order, or drop "
        "the tables of one program, by persia table drop");
  }
  EXPECT_TRUE(Create(service_.get(), OfShard("items", 0, 1)).ok());
}

TEST_F(ShardViewTest, ASubsetOfTheShardsIsAnotherView) {
  EXPECT_EQ(Create(service_.get(), OfShard("items", 0, 2)).code(),
            Code::kFailedPrecondition);
}

TEST_F(ShardViewTest, AnotherViewMayComeOnceNoTableIsLeft) {
  DropTableRequest drop;
  drop.table = HashName("t");
  drop.drop_id = 1;
  drop.deadline = DeadlineAfter(60);
  ASSERT_TRUE(Call(service_.get(), &EmbeddingService::DropTable, &drop).ok());
  EXPECT_TRUE(Create(service_.get(), OfShard("items", 1, 2)).ok());
}

TEST_F(ShardViewTest, ACheckpointOfAnotherViewIsNeitherSavedNorRestored) {
  Train(service_.get(), "t", Range(0, 10));
  const Rows held = Held();
  ASSERT_TRUE(Save(1).ok());
  for (const auto& [action, save] :
       {std::pair(CheckpointAction::kSave, uint64_t{2}),
        std::pair(CheckpointAction::kRestore, uint64_t{1})}) {
    const Status status = AskAsShard(1, 2, action, save);
    EXPECT_EQ(status.code(), Code::kFailedPrecondition);
    EXPECT_EQ(status.message().find(Concat(
                  "checkpoint ", save,
                  " expects this server to be shard 1 of 2, but it is ")),
              0u);
  }
  EXPECT_EQ(Held(), held);
}

// When the checkpoint was read, the server had no table.
TEST_F(ShardViewTest, ACheckpointThatWasReadForAnotherViewIsNotSwappedIn) {
  Train(service_.get(), "t", Range(0, 10));
  ASSERT_TRUE(Save(1).ok());
  DropTableRequest drop;
  drop.table = HashName("t");
  drop.drop_id = 1;
  drop.deadline = DeadlineAfter(60);
  ASSERT_TRUE(Call(service_.get(), &EmbeddingService::DropTable, &drop).ok());
  ASSERT_TRUE(AskAsShard(1, 2, CheckpointAction::kRestore, 1).ok());
  ASSERT_TRUE(WaitForJob().ok());
  ASSERT_TRUE(Create(service_.get(), OfShard("items", 0, 1)).ok());
  EXPECT_EQ(AskAsShard(1, 2, CheckpointAction::kSwap, 1).code(),
            Code::kFailedPrecondition);
}

}  // namespace
}  // namespace persia
