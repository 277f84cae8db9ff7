// Following shards, and shards behind workers, over the wire.

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "cc/base/hash.h"
#include "tests/cc/client/shards_fixture.h"
#include "tests/cc/service/changes_calls.h"
#include "tests/cc/support/row_requests.h"
#include "tests/cc/support/shard_of.h"

namespace persia {
namespace {

constexpr char kTable[] = "user";

Copy FollowerOf(EmbeddingService* client, uint32_t shard) {
  Copy copy([client](ChangesRequest* request) {
    CallResult result;
    client->Changes(request, result.done());
    return result.Wait();
  });
  copy.shard = shard;
  return copy;
}

// The rows that followers of all shards have, together.
Weights FollowAll(EmbeddingService* client, uint32_t shards) {
  Weights all;
  for (uint32_t s = 0; s < shards; ++s) {
    Copy copy = FollowerOf(client, s);
    copy.CatchUp(100);
    for (const auto& [id, row] : copy[kTable]) {
      EXPECT_EQ(ShardOf(id, shards), s);
      EXPECT_TRUE(all.emplace(id, row).second) << id;
    }
  }
  return all;
}

TEST(RemoteChangesTest, EachShardTellsItsOwn) {
  Cluster cluster(3);
  LookUpRows(cluster.client(), kUser, FirstIds(500));
  EXPECT_EQ(FollowAll(cluster.client(), 3),
            ExportRows(cluster.client(), kUser, 1000));
}

TEST(RemoteChangesTest, AWorkerAsksTheShardBehindIt) {
  Cluster cluster(3);
  auto worker = StartServer(cluster.client(), ServerOptions());
  ASSERT_TRUE(worker.ok());
  const auto client = MakeClient({LocalHost((*worker)->port())});
  LookUpRows(cluster.client(), kUser, FirstIds(500));
  EXPECT_EQ(FollowAll(client.get(), 3),
            ExportRows(cluster.client(), kUser, 1000));
}

TEST(RemoteChangesTest, SeveralWorkersAskTheShardBehindThem) {
  Cluster cluster(3);
  auto one = StartServer(cluster.client(), ServerOptions());
  auto other = StartServer(cluster.client(), ServerOptions());
  ASSERT_TRUE(one.ok() && other.ok());
  const auto client =
      MakeClient({LocalHost((*one)->port()), LocalHost((*other)->port())});
  LookUpRows(cluster.client(), kUser, FirstIds(500));
  EXPECT_EQ(FollowAll(client.get(), 3),
            ExportRows(cluster.client(), kUser, 1000));
}

TEST(RemoteChangesTest, AShardThatThereIsNotIsRefused) {
  Cluster cluster(2);
  Copy copy = FollowerOf(cluster.client(), 2);
  const Status status = copy.Poll();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "the shard of changes must be below the number of shards, 2, "
            "received 2");
}

TEST(RemoteChangesTest, AFailureLeavesThePosition) {
  Cluster cluster(2);
  LookUpRows(cluster.client(), kUser, FirstIds(100));
  Copy copy = FollowerOf(cluster.client(), 1);
  copy.CatchUp();
  const FollowPosition before = copy.position;
  cluster.shard(1).service()->FailNext(1, Status(Code::kInternal, "oh no"));
  EXPECT_EQ(copy.Poll().code(), Code::kInternal);
  EXPECT_EQ(copy.position.version, before.version);
  RemoveRows(cluster.client(), kUser, FirstIds(100));
  copy.CatchUp();
  EXPECT_EQ(copy.began, Begins::kWhole);
  EXPECT_TRUE(copy[kTable].empty());
}

TEST(RemoteChangesTest, RepliesKeepWithinTheServersLimit) {
  HoldingService service;
  ServerOptions options;
  options.max_body_bytes = 20000;
  auto server = StartServer(&service, options);
  ASSERT_TRUE(server.ok());
  const auto client = MakeClient({LocalHost((*server)->port())});
  CreateRowTable(client.get(), kTable);
  for (int64_t at = 0; at < 5; ++at) {
    std::vector<int64_t> ids = FirstIds(500);
    for (int64_t& id : ids) id += 500 * at;
    LookUpRows(client.get(), kTable, ids);
  }
  Copy copy = FollowerOf(client.get(), 0);
  EXPECT_EQ(copy.CatchUp(1000000), 2500u);
}

}  // namespace
}  // namespace persia
