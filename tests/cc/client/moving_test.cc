// Shards that move to another address while a client uses them.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/cc/client/shards_fixture.h"
#include "tests/cc/support/raw_socket.h"

namespace persia {
namespace {

void MoveToItsAddress(EmbeddingService* client, uint32_t index,
                      const Shard& shard) {
  const Status moved = client->MoveShard(index, shard.address());
  EXPECT_TRUE(moved.ok()) << moved.message();
}

TEST(MovingTest, RequestsInFlightAreSentToTheNewAddress) {
  Cluster cluster(2);
  const std::vector<int64_t> ids = FirstIds(100);
  const std::vector<float> rows = LookUpRows(cluster.client(), kUser, ids);
  HoldingService* const service = cluster.shard(1).service();
  service->Hold();
  const PendingLookup lookup(cluster.client(), kUser, ids);
  service->WaitForHeld(1);
  cluster.shard(1).RestartElsewhere();
  service->ReleaseAll();  // The connection of that answer is gone.
  MoveToItsAddress(cluster.client(), 1, cluster.shard(1));
  EXPECT_TRUE(lookup.Wait().ok()) << lookup.Wait().message();
  EXPECT_EQ(lookup.rows(), rows);
}

TEST(MovingTest, UpdateWhoseReplyWasLostIsAppliedOnce) {
  Cluster cluster(1);
  HoldingService* const service = cluster.shard(0).service();
  const std::vector<float> before = LookUpRows(cluster.client(), kUser, {5});
  service->Hold();
  const PendingUpdate update(cluster.client(), kUser, {5}, 1, 1);
  service->WaitForHeld(1);  // It is applied, but the client was not told.
  cluster.shard(0).RestartElsewhere();
  service->ReleaseAll();
  MoveToItsAddress(cluster.client(), 0, cluster.shard(0));
  ASSERT_TRUE(update.Wait().ok()) << update.Wait().message();
  std::vector<float> expected = before;
  for (float& weight : expected) weight -= 1.0f;
  EXPECT_EQ(LookUpRows(cluster.client(), kUser, {5}), expected);
  EXPECT_EQ(StatsOf(cluster.client())[0].repeated_updates, 1u);
}

TEST(MovingTest, AConnectionThatWorksIsLeftForTheNewAddress) {
  Cluster cluster(1);
  Shard other;
  CreateRowTable(other.service(), kUser);
  AssignRows(other.service(), kUser, {5}, 42);
  MoveToItsAddress(cluster.client(), 0, other);
  EXPECT_EQ(LookUpRows(cluster.client(), kUser, {5}),
            LookUpRows(other.service(), kUser, {5}));
  EXPECT_EQ(StatsOf(cluster.shard(0).service())[0].connections, 0u);
}

TEST(MovingTest, AClientThatWaitsForADeadAddressConnectsAtOnce) {
  RawListener dead;
  Shard shard;
  CreateRowTable(shard.service(), kUser);
  // The listener accepts the connection and never answers.
  const auto client = MakeClient({LocalHost(dead.port())});
  const PendingLookup lookup(client.get(), kUser, {1});
  const RawSocket accepted = dead.Accept();
  MoveToItsAddress(client.get(), 0, shard);
  EXPECT_TRUE(lookup.Wait().ok()) << lookup.Wait().message();
}

TEST(MovingTest, AMoveCanFollowAnother) {
  Cluster cluster(1);
  Shard& shard = cluster.shard(0);
  for (int i = 0; i < 20; ++i) {
    const PendingLookup lookup(cluster.client(), kUser, FirstIds(10));
    shard.RestartElsewhere();
    ASSERT_TRUE(cluster.client()->MoveShard(0, "127.0.0.1:1").ok());
    MoveToItsAddress(cluster.client(), 0, shard);
    EXPECT_TRUE(lookup.Wait().ok()) << lookup.Wait().message();
  }
}

TEST(MovingTest, ErrorsNameTheNewAddress) {
  Cluster cluster(2);
  ASSERT_TRUE(cluster.client()->MoveShard(1, "127.0.0.1:1").ok());
  const PendingLookup lookup(cluster.client(), kUser, FirstIds(100), 0.2);
  EXPECT_EQ(lookup.Wait().code(), Code::kUnavailable);
  EXPECT_EQ(lookup.Wait().message().find("shard 1 of 2 (127.0.0.1:1) did not"),
            0u)
      << lookup.Wait().message();
}

TEST(MovingTest, AShardThatIsNoneOrAnAddressThatIsNoneIsRefused) {
  Cluster cluster(2);
  const Status no_shard = cluster.client()->MoveShard(2, "127.0.0.1:1");
  EXPECT_EQ(no_shard.code(), Code::kInvalidArgument);
  EXPECT_EQ(no_shard.message(),
            "shard must be below 2, the number of shards, received 2");
  const Status no_address = cluster.client()->MoveShard(0, "no port");
  EXPECT_EQ(no_address.code(), Code::kInvalidArgument);
  EXPECT_NE(no_address.message().find("no port"), std::string::npos);
}

}  // namespace
}  // namespace persia
