#include "cc/shard/ownership.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace persia {
namespace {

constexpr uint64_t kOwn = 5;
constexpr uint64_t kOther = 6;

Topology Two(uint64_t cluster = 1) {
  return *Topology::Found(
      cluster, {{kOwn, 0, 1, false, "a:1"}, {kOther, 1, 1, false, "b:1"}});
}

TopologyRequest Telling(const Topology& topology, bool founds = false) {
  TopologyRequest request;
  request.told = topology.Encode();
  request.founds = founds;
  return request;
}

int64_t IdIn(uint32_t first, uint32_t end) {
  int64_t id = 0;
  while (SlotOf(id) < first || SlotOf(id) >= end) ++id;
  return id;
}

const int64_t kOwnId = IdIn(0, kSlots / 2);
const int64_t kOthersId = IdIn(kSlots / 2, kSlots);

TEST(OwnershipTest, WithoutAClusterItServesThoseWhoKnowOfNone) {
  const Ownership ownership(kOwn);
  const std::vector<int64_t> ids = {kOwnId, kOthersId};
  EXPECT_EQ(ownership.topology(), nullptr);
  EXPECT_TRUE(ownership.Knows(0));
  EXPECT_TRUE(ownership.Check(0, ids).ok());
  EXPECT_FALSE(ownership.Knows(Two().RouteOf(kOwn)));
  EXPECT_EQ(ownership.Check(Two().RouteOf(kOwn), ids).code(), Code::kMoved);
}

TEST(OwnershipTest, ItServesItsSlotsHoweverTheyWereRouted) {
  Ownership ownership(kOwn);
  ownership.Set(*ownership.After(ownership.topology(), Telling(Two())));
  EXPECT_TRUE(ownership.Knows(Two().RouteOf(kOwn)));
  for (const uint64_t route : {uint64_t{0}, uint64_t{77}}) {
    EXPECT_FALSE(ownership.Knows(route));
    EXPECT_TRUE(ownership.Check(route, std::vector<int64_t>{kOwnId}).ok());
    EXPECT_EQ(
        ownership.Check(route, std::vector<int64_t>{kOwnId, kOthersId}).code(),
        Code::kMoved);
  }
}

TEST(OwnershipTest, ItJoinsOnlyClustersThatHaveIt) {
  const Ownership ownership(kOther + 1);
  const auto after = ownership.After(ownership.topology(), Telling(Two()));
  ASSERT_TRUE(after.ok());
  EXPECT_EQ(*after, nullptr);
}

TEST(OwnershipTest, ItLearnsWhatIsNewer) {
  Ownership ownership(kOwn);
  ownership.Set(*ownership.After(ownership.topology(), Telling(Two())));
  const SharedTopology before = ownership.topology();
  EXPECT_EQ(*ownership.After(ownership.topology(), TopologyRequest()), before);
  EXPECT_EQ(*ownership.After(ownership.topology(), Telling(Two())), before);
  SlotSet slots;
  slots.set(SlotOf(kOwnId));
  ownership.Set(*ownership.After(ownership.topology(),
                                 Telling(Two().WithOwner(slots, kOther))));
  EXPECT_EQ(ownership.Check(0, std::vector<int64_t>{kOwnId}).code(),
            Code::kMoved);
  // What is older changes nothing.
  ownership.Set(*ownership.After(ownership.topology(), Telling(Two())));
  EXPECT_EQ(ownership.Check(0, std::vector<int64_t>{kOwnId}).code(),
            Code::kMoved);
}

TEST(OwnershipTest, AMemberJoinsNoOtherCluster) {
  Ownership ownership(kOwn);
  ownership.Set(*ownership.After(ownership.topology(), Telling(Two())));
  EXPECT_EQ(
      ownership.After(ownership.topology(), Telling(Two(2))).status().code(),
      Code::kFailedPrecondition);
  // Who founds a cluster learns that there is one.
  EXPECT_EQ(
      *ownership.After(ownership.topology(), Telling(Two(2), /*founds=*/true)),
      ownership.topology());
}

TEST(OwnershipTest, WhatIsNoTopologyIsRefused) {
  const Ownership ownership(kOwn);
  TopologyRequest request;
  request.told = {1, 2, 3};
  EXPECT_EQ(ownership.After(ownership.topology(), request).status().code(),
            Code::kDataLoss);
}

}  // namespace
}  // namespace persia
