// What is asked of a cluster without changing it.

#include "cc/client/cluster_admin.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/cc/client/moving_fixture.h"

namespace persia {
namespace {

std::unique_ptr<ClusterAdmin> Admin(std::vector<std::string> addresses,
                                    double seconds = 20) {
  return std::make_unique<ClusterAdmin>(std::move(addresses),
                                        RemoteServiceOptions(), seconds);
}

TEST(ClusterAdminTest, ALookFindsShardsThatWereNotListed) {
  MovingCluster cluster(3, 3, /*durable=*/false);
  const auto look = Admin({cluster.shard(1).address()})->Look();
  ASSERT_TRUE(look.ok()) << look.status().message();
  EXPECT_EQ(look->answered,
            (std::set<uint64_t>{cluster.member(0), cluster.member(1),
                                cluster.member(2)}));
  ASSERT_NE(look->topology, nullptr);
  EXPECT_EQ(look->topology->members().size(), 3u);
}

TEST(ClusterAdminTest, ALookTellsNobodyOfWhatOthersKnow) {
  MovingCluster cluster(2, 1, /*durable=*/false);
  const auto before = ExchangeWith(cluster.shard(0).service(), nullptr);
  // The second shard alone knows of a third one.
  auto topology = Topology::Decode(before.topology);
  ASSERT_TRUE(topology.ok());
  MovingShard third;
  Member member;
  member.id = ExchangeWith(third.service(), nullptr).member;
  member.number = 2;
  member.version = 1;
  member.address = third.address();
  const Topology newer = topology->WithMember(member);
  ExchangeWith(cluster.shard(1).service(), &newer);

  const auto look =
      Admin({cluster.shard(0).address(), cluster.shard(1).address()})->Look();
  ASSERT_TRUE(look.ok()) << look.status().message();
  EXPECT_EQ(look->topology->members().size(), 3u);
  EXPECT_EQ(look->answered.size(), 3u);
  EXPECT_EQ(ExchangeWith(cluster.shard(0).service(), nullptr).topology,
            before.topology);
  EXPECT_TRUE(ExchangeWith(third.service(), nullptr).topology.empty());
}

TEST(ClusterAdminTest, ALookLeavesOutShardsThatAreDown) {
  MovingCluster cluster(3, 3, /*durable=*/false);
  const uint64_t down = cluster.member(2);
  cluster.shard(2).Stop();
  const auto look =
      Admin({cluster.shard(0).address(), cluster.shard(2).address()}, 0.5)
          ->Look();
  ASSERT_TRUE(look.ok()) << look.status().message();
  EXPECT_EQ(look->answered,
            (std::set<uint64_t>{cluster.member(0), cluster.member(1)}));
  EXPECT_NE(look->topology->Find(down), nullptr);
}

TEST(ClusterAdminTest, ALookAtShardsThatAreAllDownFails) {
  MovingShard shard;
  shard.Stop();
  const auto look = Admin({shard.address()}, 0.2)->Look();
  EXPECT_TRUE(IsOutage(look.status())) << look.status().message();
}

TEST(ClusterAdminTest, ShardsOfNoClusterHaveNoTopology) {
  MovingShard shard;
  const auto look = Admin({shard.address()})->Look();
  ASSERT_TRUE(look.ok()) << look.status().message();
  EXPECT_EQ(look->topology, nullptr);
  EXPECT_EQ(look->answered.size(), 1u);
}

TEST(ClusterAdminTest, AMemberTellsTheLoadsOfItsSlots) {
  MovingCluster cluster(2, 2, /*durable=*/false);
  const std::vector<int64_t> ids = FirstIds(5000);
  AssignRows(cluster.client(), kUser, ids, 5.0f);
  LookUpRows(cluster.client(), kUser, ids);
  const auto admin = Admin({cluster.shard(0).address()});
  ASSERT_TRUE(admin->Look().ok());
  SlotSet loaded;
  for (size_t shard = 0; shard < 2; ++shard) {
    SlotLoadsRequest request;
    const Status asked = admin->SlotLoads(cluster.member(shard), &request);
    ASSERT_TRUE(asked.ok()) << asked.message();
    EXPECT_TRUE(request.slots.any());
    EXPECT_EQ(request.slots & ~cluster.SlotsOf(shard), SlotSet());
    loaded |= request.slots;
  }
  // A client of all shards adds them up.
  SlotLoadsRequest sums;
  sums.deadline = DeadlineAfter(20);
  CallResult result;
  cluster.client()->SlotLoads(&sums, result.done());
  ASSERT_TRUE(result.Wait().ok()) << result.Wait().message();
  EXPECT_EQ(sums.slots, loaded);
}

}  // namespace
}  // namespace persia
