#include "cc/shard/prepared_slots.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/cc/store/slot_calls.h"

namespace persia {
namespace {

SlotsApplied Applied(const SlotSet& slots, uint64_t client) {
  ClientWindow window;
  window.client = client;
  window.highest = 1;
  window.Set(0);
  return {slots, {window}};
}

// The slots of each part, and the clients that it tells of.
using Parts = std::vector<std::pair<SlotSet, uint64_t>>;

Parts PartsOf(const std::vector<SlotsApplied>& all) {
  Parts parts;
  for (const SlotsApplied& each : all) {
    EXPECT_EQ(each.clients.size(), 1u);
    parts.emplace_back(each.slots, each.clients.at(0).client);
  }
  return parts;
}

TEST(PreparedSlotsTest, SlotsThatWereBegunAreNotPrepared) {
  PreparedSlots slots;
  slots.Begin(SlotRange(0, 10));
  slots.Begin(SlotRange(5, 20));
  EXPECT_EQ(slots.arriving(), SlotRange(0, 20));
  EXPECT_TRUE(slots.prepared().empty());
  EXPECT_TRUE(slots.Arrive(SlotRange(0, 10)).empty());
  EXPECT_EQ(slots.arriving(), SlotRange(10, 20));
}

TEST(PreparedSlotsTest, PreparedSlotsArriveWithWhatWasAppliedToThem) {
  PreparedSlots slots;
  slots.Begin(SlotRange(0, 30));
  slots.Prepare(Applied(SlotRange(0, 10), 1));
  slots.Prepare(Applied(SlotRange(10, 20), 2));
  EXPECT_EQ(slots.arriving(), SlotRange(0, 30));
  EXPECT_EQ(PartsOf(slots.Arrive(SlotRange(5, 12))),
            (Parts{{SlotRange(5, 10), 1}, {SlotRange(10, 12), 2}}));
  EXPECT_EQ(PartsOf(slots.prepared()),
            (Parts{{SlotRange(0, 5), 1}, {SlotRange(12, 20), 2}}));
  EXPECT_EQ(slots.arriving(), SlotRange(0, 5) | SlotRange(12, 30));
  EXPECT_EQ(PartsOf(slots.Arrive(SlotSet().set())),
            (Parts{{SlotRange(0, 5), 1}, {SlotRange(12, 20), 2}}));
  EXPECT_TRUE(slots.arriving().none());
  EXPECT_TRUE(slots.prepared().empty());
}

// The owner went on with the slots, and applied more to them.
TEST(PreparedSlotsTest, WhatIsPreparedLastCounts) {
  PreparedSlots slots;
  slots.Prepare(Applied(SlotRange(0, 10), 1));
  slots.Prepare(Applied(SlotRange(5, 15), 2));
  EXPECT_EQ(PartsOf(slots.Arrive(SlotRange(0, 15))),
            (Parts{{SlotRange(0, 5), 1}, {SlotRange(5, 15), 2}}));
}

TEST(PreparedSlotsTest, WhatBeginsAnewIsNoLongerPrepared) {
  PreparedSlots slots;
  slots.Prepare(Applied(SlotRange(0, 10), 1));
  slots.Begin(SlotRange(5, 20));
  EXPECT_EQ(PartsOf(slots.prepared()), (Parts{{SlotRange(0, 5), 1}}));
  EXPECT_EQ(slots.arriving(), SlotRange(0, 20));
}

TEST(PreparedSlotsTest, DroppedSlotsDoNotArrive) {
  PreparedSlots slots;
  slots.Begin(SlotRange(0, 20));
  slots.Prepare(Applied(SlotRange(0, 10), 1));
  slots.Drop(SlotRange(5, 15));
  EXPECT_EQ(slots.arriving(), SlotRange(0, 5) | SlotRange(15, 20));
  EXPECT_EQ(PartsOf(slots.Arrive(SlotRange(0, 20))),
            (Parts{{SlotRange(0, 5), 1}}));
}

}  // namespace
}  // namespace persia
