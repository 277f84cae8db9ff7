// Slots with their epochs.

#include "cc/base/owned_slots.h"

#include <gtest/gtest.h>

namespace persia {
namespace {

SlotSet Set(uint32_t first, uint32_t end) {
  SlotSet slots;
  for (uint32_t slot = first; slot < end; ++slot) slots.set(slot);
  return slots;
}

TEST(OwnedSlotsTest, SlotsAreCommonInTheSameEpochOfTheSameCluster) {
  const OwnedSlots before = {5, {{1, Set(0, 10)}, {2, Set(10, 20)}}};
  const OwnedSlots after = {5, {{1, Set(5, 8)}, {2, Set(8, 12)}}};
  EXPECT_EQ(CommonSlots(before, after), Set(5, 8) | Set(10, 12));
  OwnedSlots of_another = after;
  of_another.cluster = 6;
  EXPECT_TRUE(CommonSlots(before, of_another).none());
}

TEST(OwnedSlotsTest, RestrictedSlotsHaveTheirEpochs) {
  const OwnedSlots owned = {5, {{1, Set(0, 10)}, {2, Set(10, 20)}}};
  const OwnedSlots some = Restricted(owned, Set(15, 30));
  ASSERT_EQ(some.epochs.size(), 1u);
  EXPECT_EQ(some.cluster, 5u);
  EXPECT_EQ(some.epochs[0].epoch, 2u);
  EXPECT_EQ(SlotsIn(some), Set(15, 20));
  EXPECT_TRUE(Restricted(owned, SlotSet()).epochs.empty());
}

TEST(OwnedSlotsTest, AShardOfNoClusterOwnsAllSlots) {
  EXPECT_TRUE(SlotsIn(SlotsOfNoCluster()).all());
}

}  // namespace
}  // namespace persia
