// Which slots the files of a checkpoint hold.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cc/checkpoint/chain.h"
#include "tests/cc/checkpoint/checkpoint_calls.h"

namespace persia {
namespace {

class ChainSlotsTest : public ::testing::Test {
 protected:
  ChainSlotsTest() { EXPECT_TRUE(store_.CreateTable(MakeConfig("t", 4)).ok()); }

  // Saves no rows; returns the path.
  std::string SaveFile(const ShardHeader& header, const std::string& name) {
    const std::string path = folder_ / name;
    const Status status = Save(store_, header, path);
    EXPECT_TRUE(status.ok()) << status.message();
    return path;
  }

  Status LoadSave(const std::vector<std::string>& paths, uint64_t save) {
    const Store empty;
    StoreLoader loader(&empty, HeaderOf(save, 0));
    return Load(paths, &loader);
  }

  const TemporaryFolder folder_;
  Store store_;
};

TEST_F(ChainSlotsTest, ASlotThatTwoFilesHoldIsFound) {
  SlotSet first, second;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    (slot < 100 ? first : second).set(slot);
  }
  const std::string one = SaveFile({1, 0, 7, first}, "one");
  const std::string rest = SaveFile({1, 0, 8, second}, "rest");
  EXPECT_TRUE(LoadSave({one, rest}, 1).ok());
  second.set(98).set(99);
  const std::string more = SaveFile({1, 0, 8, second}, "more");
  const Status status = LoadSave({one, more}, 1);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_EQ(status.message(), "the rows of the slots 98-99 are both in " + one +
                                  " and in " + more);
}

TEST_F(ChainSlotsTest, ASlotThatNoFileHoldsIsFound) {
  SlotSet slots;
  slots.set();
  slots.reset(5).reset(7).reset(8);
  const Status status = LoadSave({SaveFile({1, 0, 7, slots}, "one")}, 1);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_EQ(status.message(),
            "the files of the checkpoint hold no rows of the slots 5, 7-8: "
            "files of shards are missing from it");
}

TEST_F(ChainSlotsTest, AnIncrementOfOtherSlotsIsRefused) {
  const std::string whole = SaveFile(HeaderOf(1, 0, 0, 2), "whole");
  Commit(store_);
  const std::string increment = SaveFile(HeaderOf(2, 1, 0, 1), "increment");
  const Status status = LoadSave({whole, increment}, 2);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_EQ(status.message(), increment + " is an increment of " + whole +
                                  ", but holds the rows of other slots");
}

}  // namespace
}  // namespace persia
