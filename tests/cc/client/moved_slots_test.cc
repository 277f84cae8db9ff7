// Clients of a cluster whose slots move, and of clusters that they find.

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cc/base/hash.h"
#include "cc/shard/local_service.h"
#include "tests/cc/client/shards_fixture.h"

namespace persia {
namespace {

TopologyRequest Exchange(EmbeddingService* shard, const Topology* told) {
  TopologyRequest request;
  request.deadline = DeadlineAfter(30);
  if (told != nullptr) request.told = told->Encode();
  CallResult result;
  shard->ExchangeTopology(&request, result.done());
  EXPECT_TRUE(result.Wait().ok()) << result.Wait().message();
  return request;
}

// The slots of the first shard of two that the second one is to own.
SlotSet SomeSlots() {
  SlotSet slots;
  for (uint32_t slot = 0; slot < kSlots / 4; ++slot) slots.set(slot);
  return slots;
}

// Moves slots without their rows, as both shards know then, and no client.
Topology MoveSlots(Cluster* cluster, const SlotSet& slots, size_t to) {
  const SharedTopology before = cluster->shard(0).service()->CurrentTopology();
  const Topology after = before->WithOwner(slots, before->members()[to].id);
  Exchange(cluster->shard(0).service(), &after);
  Exchange(cluster->shard(1).service(), &after);
  return after;
}

TEST(MovedSlotsTest, TheFirstClientFoundsACluster) {
  Cluster cluster(3);
  const SharedTopology topology = cluster.client()->CurrentTopology();
  ASSERT_NE(topology, nullptr);
  ASSERT_EQ(topology->members().size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(topology->members()[i].number, i);
    EXPECT_EQ(topology->members()[i].address, cluster.shard(i).address());
    const SharedTopology known = cluster.shard(i).service()->CurrentTopology();
    ASSERT_NE(known, nullptr);
    EXPECT_EQ(known->cluster(), topology->cluster());
    EXPECT_EQ(known->epoch(), topology->epoch());
  }
}

TEST(MovedSlotsTest, OneAddressOfAClusterIsEnough) {
  Cluster cluster(3);
  const std::vector<int64_t> ids = FirstIds(100);
  AssignRows(cluster.client(), kUser, ids, 5.0f);
  for (size_t i = 0; i < 3; ++i) {
    const auto client = MakeClient({cluster.shard(i).address()});
    EXPECT_EQ(LookUpRows(client.get(), kUser, ids),
              LookUpRows(cluster.client(), kUser, ids));
    EXPECT_EQ(StatsOf(client.get()).size(), 3u);
  }
}

TEST(MovedSlotsTest, AClientOfOneShardAloneFindsNoCluster) {
  Cluster cluster(2);
  AssignRows(cluster.client(), kUser, FirstIds(100), 5.0f);
  RemoteServiceOptions options;
  options.finds_cluster = false;
  const auto client = MakeClient({cluster.shard(1).address()}, options);
  for (const auto& [id, row] : ExportRows(client.get(), kUser, 100)) {
    EXPECT_GE(SlotOf(id), kSlots / 2);
  }
  EXPECT_EQ(client->CurrentTopology(), nullptr);
}

TEST(MovedSlotsTest, TheOrderOfAddressesDoesNotMatter) {
  Cluster cluster(3);
  const std::vector<int64_t> ids = FirstIds(100);
  AssignRows(cluster.client(), kUser, ids, 5.0f);
  const auto client =
      MakeClient({cluster.shard(2).address(), cluster.shard(0).address(),
                  cluster.shard(1).address()});
  CreateRowTable(client.get(), kUser);
  EXPECT_EQ(LookUpRows(client.get(), kUser, ids),
            LookUpRows(cluster.client(), kUser, ids));
}

TEST(MovedSlotsTest, AShardThatIsDownDoesNotKeepAClientFromItsCluster) {
  Cluster cluster(2);
  cluster.shard(0).Kill();
  const auto client = MakeClient(cluster.addresses());
  const std::vector<int64_t> ids = FirstIds(100);
  std::vector<int64_t> others;
  for (const int64_t id : ids) {
    if (SlotOf(id) >= kSlots / 2) others.push_back(id);
  }
  LookUpRows(client.get(), kUser, others);
}

TEST(MovedSlotsTest, WhoOnlyAsksFoundsNoCluster) {
  Shard first, second;
  const auto client = MakeClient({first.address()});
  StatsOf(client.get());
  EXPECT_EQ(first.service()->CurrentTopology(), nullptr);
  const auto both = MakeClient({first.address(), second.address()});
  CreateRowTable(both.get(), kUser);
  EXPECT_EQ(StatsOf(client.get()).size(), 1u);
  CreateRowTable(client.get(), kUser);
  EXPECT_EQ(StatsOf(client.get()).size(), 2u);
}

void ExpectRefused(const std::vector<std::string>& addresses, Code code,
                   const std::string& part) {
  const auto client = MakeClient(addresses);
  CreateTableRequest request;
  request.deadline = DeadlineAfter(30);
  request.config = RowTable(kUser);
  CallResult result;
  client->CreateTable(&request, result.done());
  EXPECT_EQ(result.Wait().code(), code);
  EXPECT_NE(result.Wait().message().find(part), std::string::npos)
      << result.Wait().message();
}

TEST(MovedSlotsTest, OneShardUnderTwoNamesIsRefused) {
  Shard shard;
  ExpectRefused({shard.address(), Concat("localhost:", shard.port())},
                Code::kInvalidArgument, "are the same shard");
}

TEST(MovedSlotsTest, ShardsOfTwoClustersAreRefused) {
  Cluster one(2), two(1);
  ExpectRefused({one.shard(0).address(), two.shard(0).address()},
                Code::kFailedPrecondition, "to another, since the program");
}

TEST(MovedSlotsTest, AShardOfNoClusterIsNotSilentlyLeftOut) {
  Cluster cluster(2);
  Shard more;
  std::vector<std::string> addresses = cluster.addresses();
  addresses.push_back(more.address());
  ExpectRefused(
      addresses, Code::kFailedPrecondition,
      Concat(more.address(), " is a shard of no cluster, but the cluster"));
}

TEST(MovedSlotsTest, LookupsFollowTheirSlots) {
  Cluster cluster(2);
  const std::vector<int64_t> ids = FirstIds(1000);
  AssignRows(cluster.client(), kUser, ids, 5.0f);
  const auto before = LookUpRows(cluster.client(), kUser, ids);
  MoveSlots(&cluster, SomeSlots(), 1);
  // The second shard has no rows of these slots yet.
  AssignRows(cluster.client(), kUser, ids, 5.0f);
  EXPECT_EQ(LookUpRows(cluster.client(), kUser, ids), before);
  EXPECT_EQ(cluster.client()->CurrentTopology()->epoch(),
            cluster.shard(0).service()->CurrentTopology()->epoch());
  // And back, with another client, which knows only that.
  MoveSlots(&cluster, SomeSlots(), 0);
  EXPECT_EQ(LookUpRows(cluster.client(), kUser, ids), before);
  EXPECT_EQ(RemoveRows(cluster.client(), kUser, ids), 1000u);
}

TEST(MovedSlotsTest, UpdatesFollowTheirSlotsAndAreAppliedOnce) {
  Cluster cluster(2);
  const auto local = MakeLocalService();
  CreateRowTable(local.get(), kUser);
  const std::vector<int64_t> ids = FirstIds(1000);
  for (EmbeddingService* service : {cluster.client(), local.get()}) {
    AssignRows(service, kUser, ids, 5.0f);
  }
  MoveSlots(&cluster, SomeSlots(), 1);
  // Any client may set what moves: here the second shard gets the rows.
  const auto other = MakeClient(cluster.addresses());
  AssignRows(other.get(), kUser, ids, 5.0f);
  for (int again = 0; again < 2; ++again) {
    const PendingUpdate update(cluster.client(), kUser, ids, 1, 1);
    ASSERT_TRUE(update.Wait().ok()) << update.Wait().message();
    EXPECT_EQ(update.counts().applied, again == 0 ? 1000u : 0u);
  }
  const PendingUpdate update(local.get(), kUser, ids, 1, 1);
  ASSERT_TRUE(update.Wait().ok());
  EXPECT_EQ(LookUpRows(cluster.client(), kUser, ids),
            LookUpRows(local.get(), kUser, ids));
}

// The new owner learns a moment later than the client that it is one.
TEST(MovedSlotsTest, ClientsWaitForTheNewOwner) {
  Cluster cluster(2);
  const std::vector<int64_t> ids = FirstIds(100);
  const SharedTopology before = cluster.shard(0).service()->CurrentTopology();
  const Topology after =
      before->WithOwner(SomeSlots(), before->members()[1].id);
  Exchange(cluster.shard(0).service(), &after);
  const PendingLookup lookup(cluster.client(), kUser, ids);
  while (cluster.client()->CurrentTopology()->epoch() != after.epoch()) {
    std::this_thread::yield();
  }
  Exchange(cluster.shard(1).service(), &after);
  EXPECT_TRUE(lookup.Wait().ok()) << lookup.Wait().message();
}

TEST(MovedSlotsTest, AShardThatWasStartedAnewTakesTheLostOnesPlace) {
  Shard first;
  auto second = std::make_unique<Shard>();
  const std::vector<std::string> addresses = {first.address(),
                                              second->address()};
  const auto client = MakeClient(addresses);
  CreateRowTable(client.get(), kUser);
  ServerOptions options;
  options.port = second->port();
  second = nullptr;
  second = std::make_unique<Shard>(options);
  const std::vector<int64_t> ids = FirstIds(100);
  // It has no table, which is what a lookup says.
  const PendingLookup lookup(client.get(), kUser, ids);
  EXPECT_EQ(lookup.Wait().code(), Code::kNotFound) << lookup.Wait().message();
  CreateRowTable(second->service(), kUser);
  LookUpRows(client.get(), kUser, ids);
  const SharedTopology topology = client->CurrentTopology();
  ASSERT_EQ(topology->members().size(), 3u);
  EXPECT_EQ(first.service()->CurrentTopology()->epoch(), topology->epoch());
  EXPECT_EQ(second->service()->CurrentTopology()->epoch(), topology->epoch());
  EXPECT_EQ(StatsOf(client.get()).size(), 2u);
}

}  // namespace
}  // namespace persia
