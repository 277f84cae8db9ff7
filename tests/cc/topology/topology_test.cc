#include "cc/topology/topology.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace persia {
namespace {

constexpr uint64_t kCluster = 99;

Member Shard(uint64_t id, uint32_t number) {
  Member member;
  member.id = id;
  member.number = number;
  member.version = 1;
  member.address = "h:" + std::to_string(id);
  return member;
}

Topology Cluster(uint32_t shards) {
  std::vector<Member> members;
  for (uint32_t i = 0; i < shards; ++i) members.push_back(Shard(100 + i, i));
  return *Topology::Found(kCluster, std::move(members));
}

SlotSet Slots(uint32_t first, uint32_t end) {
  SlotSet slots;
  for (uint32_t slot = first; slot < end; ++slot) slots.set(slot);
  return slots;
}

void ExpectSame(const Topology& a, const Topology& b) {
  EXPECT_EQ(a.cluster(), b.cluster());
  EXPECT_EQ(a.members(), b.members());
  EXPECT_EQ(a.epoch(), b.epoch());
  EXPECT_EQ(a.fingerprint(), b.fingerprint());
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    ASSERT_EQ(a.owners()->OwnerOfSlot(slot), b.owners()->OwnerOfSlot(slot));
    ASSERT_EQ(a.EpochOfSlot(slot), b.EpochOfSlot(slot));
  }
}

TEST(TopologyTest, ANewClustersShardsOwnAlikeManySlots) {
  const Topology topology = Cluster(3);
  EXPECT_EQ(topology.cluster(), kCluster);
  EXPECT_EQ(topology.SlotsOf(100), Slots(0, 5462));
  EXPECT_EQ(topology.SlotsOf(101), Slots(5462, 10923));
  EXPECT_EQ(topology.SlotsOf(102), Slots(10923, kSlots));
  EXPECT_TRUE(topology.SlotsOf(7).none());
  EXPECT_EQ(topology.owners()->fingerprint(),
            SlotOwners::Even(3)->fingerprint());
}

TEST(TopologyTest, WhatIsNoClusterIsRefused) {
  EXPECT_FALSE(Topology::Found(kCluster, {}).ok());
  EXPECT_FALSE(Topology::Found(0, {Shard(1, 0)}).ok());
  EXPECT_FALSE(Topology::Found(kCluster, {Shard(0, 0)}).ok());
  EXPECT_FALSE(Topology::Found(kCluster, {Shard(1, 0), Shard(1, 1)}).ok());
  Member other = Shard(2, 1);
  other.address = "h:1";
  EXPECT_EQ(Topology::Found(kCluster, {Shard(1, 0), other}).status().message(),
            "the shards of a cluster must have different addresses, received "
            "h:1 twice");
}

TEST(TopologyTest, AMoveRaisesTheEpochOfItsSlotsAlone) {
  const Topology before = Cluster(2);
  const Topology after = before.WithOwner(Slots(10, 20), 101);
  EXPECT_EQ(after.epoch(), before.epoch() + 10);
  EXPECT_NE(after.RouteOf(100), before.RouteOf(100));
  EXPECT_NE(after.RouteOf(101), before.RouteOf(101));
  EXPECT_EQ(after.SlotsOf(101), Slots(10, 20) | Slots(8192, kSlots));
  EXPECT_EQ(after.EpochOfSlot(9), 1u);
  EXPECT_EQ(after.EpochOfSlot(10), 2u);
  // What moves there and back has the same owners again, but another route.
  const Topology back = after.WithOwner(Slots(10, 20), 100);
  EXPECT_EQ(back.owners()->fingerprint(), before.owners()->fingerprint());
  EXPECT_NE(back.RouteOf(100), before.RouteOf(100));
}

TEST(TopologyTest, ARouteIsThatOfOneMember) {
  const Topology before = Cluster(3);
  const Topology after = before.WithOwner(Slots(10, 20), 101);
  EXPECT_EQ(after.RouteOf(102), before.RouteOf(102));
  EXPECT_NE(after.RouteOf(101), after.RouteOf(102));
  EXPECT_NE(before.RouteOf(7), 0u);  // No member.
}

TEST(TopologyTest, MovesByDifferentOwnersAreMergedInAnyOrder) {
  const Topology start = Cluster(3).WithMember(Shard(7, 3));
  const Topology one = start.WithOwner(Slots(0, 5), 7);
  const Topology two = start.WithOwner(Slots(6000, 6005), 7);
  const Topology again = one.WithOwner(Slots(2, 3), 102);
  const Topology all = *again.Merged(two);
  EXPECT_EQ(all.SlotsOf(7), (Slots(0, 5) & ~Slots(2, 3)) | Slots(6000, 6005));
  ExpectSame(*two.Merged(again), all);
  ExpectSame(*two.Merged(*again.Merged(one)), all);
  ExpectSame(*all.Merged(start), all);
  ExpectSame(*all.Merged(all), all);
}

TEST(TopologyTest, TheNewestDescriptionOfAShardIsValid) {
  const Topology start = Cluster(2);
  Member moved = Shard(101, 1);
  moved.address = "elsewhere:1";
  moved.version = 2;
  const Topology after = start.WithMember(moved);
  EXPECT_EQ(after.members()[1].address, "elsewhere:1");
  EXPECT_EQ(after.epoch(), start.epoch() + 1);
  EXPECT_EQ(after.RouteOf(101), start.RouteOf(101));
  ExpectSame(*start.Merged(after), after);
  ExpectSame(*after.Merged(start), after);
}

TEST(TopologyTest, NewMembersComeInTheOrderOfTheirNumbers) {
  const Topology start = Cluster(2).WithMember(Shard(5, 3));
  const Topology after = start.WithMember(Shard(6, 2));
  ASSERT_EQ(after.members().size(), 4u);
  EXPECT_EQ(after.members()[2].id, 6u);
  EXPECT_EQ(after.PlaceOf(5), 3u);
  EXPECT_EQ(after.PlaceOf(4), std::nullopt);
  EXPECT_EQ(after.SlotsOf(101), start.SlotsOf(101));
}

// Two programs may name different successors of a lost shard.
TEST(TopologyTest, OfEqualEpochsOneOwnerIsValidEverywhere) {
  const Topology start =
      Cluster(2).WithMember(Shard(7, 2)).WithMember(Shard(8, 2));
  const Topology one = start.WithOwner(Slots(0, 5), 7);
  const Topology two = start.WithOwner(Slots(0, 5), 8);
  EXPECT_EQ(one.epoch(), two.epoch());
  EXPECT_NE(one.fingerprint(), two.fingerprint());
  ExpectSame(*one.Merged(two), two);
  ExpectSame(*two.Merged(one), two);
}

TEST(TopologyTest, ClustersAreNotMixed) {
  const Topology other = *Topology::Found(kCluster + 1, {Shard(100, 0)});
  EXPECT_EQ(Cluster(1).Merged(other).status().code(),
            Code::kFailedPrecondition);
}

TEST(TopologyTest, IsReadAsItWasWritten) {
  Member left = Shard(7, 3);
  left.has_left = true;
  Topology topology = Cluster(3).WithMember(left);
  ExpectSame(*Topology::Decode(topology.Encode()), topology);
  SlotSet every_other;
  for (uint32_t slot = 0; slot < kSlots; slot += 2) every_other.set(slot);
  topology = topology.WithOwner(every_other, 102);
  ExpectSame(*Topology::Decode(topology.Encode()), topology);
}

TEST(TopologyTest, WhatIsCutOrChangedIsRefused) {
  const std::vector<uint8_t> bytes =
      Cluster(3).WithOwner(Slots(0, 9), 102).Encode();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const auto read = Topology::Decode(ConstBytes(bytes.data(), size));
    EXPECT_EQ(read.status().code(), Code::kDataLoss) << size;
  }
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::vector<uint8_t> changed = bytes;
    changed[i] ^= 0xff;
    const Status status = Topology::Decode(changed).status();
    EXPECT_EQ(status.code(), Code::kDataLoss) << i;
  }
}

TEST(SlotSetTest, IsNamedAsRanges) {
  EXPECT_EQ(ToString(SlotSet()), "");
  EXPECT_EQ(ToString(Slots(3, 4)), "3");
  EXPECT_EQ(ToString(Slots(0, 3) | Slots(7, 8) | Slots(16382, kSlots)),
            "0-2, 7, 16382-16383");
}

TEST(TopologyTest, AShardsStandbyAndIncarnationAreKnown) {
  const Topology before = Cluster(2);
  Member shard = before.members()[0];
  shard.standby = "h:200";
  ++shard.version;
  const Topology with = before.WithMember(shard);
  EXPECT_EQ(with.Find(100)->standby, "h:200");
  EXPECT_EQ(with.Find(7), nullptr);
  EXPECT_NE(with.RouteOf(100), before.RouteOf(100));
  EXPECT_EQ(with.RouteOf(101), before.RouteOf(101));
  EXPECT_NE(with.fingerprint(), before.fingerprint());
  ExpectSame(*Topology::Decode(with.Encode()), with);

  Member taken = shard;
  taken.address = "h:200";
  taken.standby.clear();
  ++taken.incarnation;
  const Topology after = with.WithMember(taken);
  EXPECT_NE(after.RouteOf(100), before.RouteOf(100));
  EXPECT_EQ(after.SlotsOf(100), before.SlotsOf(100));
  ExpectSame(*Topology::Decode(after.Encode()), after);
}

TEST(TopologyTest, ALaterIncarnationIsValidWhateverTheVersions) {
  const Topology before = Cluster(2);
  Member taken = before.members()[0];
  taken.address = "h:200";
  ++taken.incarnation;
  Member old = before.members()[0];
  old.version = 9;
  const Topology a = before.WithMember(taken);
  const Topology b = before.WithMember(old);
  EXPECT_EQ(a.Merged(b)->Find(100)->address, "h:200");
  EXPECT_EQ(b.Merged(a)->Find(100)->address, "h:200");
}

}  // namespace
}  // namespace persia
