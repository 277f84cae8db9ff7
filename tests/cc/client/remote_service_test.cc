// A client of healthy shards.

#include "cc/client/remote_service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cc/base/hash.h"
#include "cc/shard/local_service.h"
#include "tests/cc/client/shards_fixture.h"
#include "tests/cc/support/shard_of.h"

namespace persia {
namespace {

class ShardCountTest : public testing::TestWithParam<size_t> {};

INSTANTIATE_TEST_SUITE_P(Shards, ShardCountTest, testing::Values(1, 2, 5));

TEST_P(ShardCountTest, RowsAreThoseOfAServiceInThisProcess) {
  Cluster cluster(GetParam());
  const auto local = MakeLocalService();
  CreateRowTable(local.get(), kUser);
  const std::vector<int64_t> ids = FirstIds(2000);
  EXPECT_EQ(LookUpRows(cluster.client(), kUser, ids),
            LookUpRows(local.get(), kUser, ids));
}

TEST_P(ShardCountTest, UpdatesAreThoseOfAServiceInThisProcess) {
  Cluster cluster(GetParam());
  const auto local = MakeLocalService();
  CreateRowTable(local.get(), kUser);
  const std::vector<int64_t> ids = FirstIds(2000);
  for (EmbeddingService* service : {cluster.client(), local.get()}) {
    LookUpRows(service, kUser, ids);
    const PendingUpdate update(service, kUser, ids, 1, 1);
    ASSERT_TRUE(update.Wait().ok()) << update.Wait().message();
    EXPECT_EQ(update.counts().applied, ids.size());
  }
  EXPECT_EQ(LookUpRows(cluster.client(), kUser, ids),
            LookUpRows(local.get(), kUser, ids));
}

// Ids in this order, and their gradients, are sent without being copied.
TEST_P(ShardCountTest, IdsInTheOrderOfTheirShardsAreServedTheSame) {
  Cluster cluster(GetParam());
  const auto local = MakeLocalService();
  CreateRowTable(local.get(), kUser);
  std::vector<int64_t> ids = FirstIds(2000);
  const auto shard = [](int64_t id) {
    return ShardOf(id, static_cast<uint32_t>(GetParam()));
  };
  std::stable_sort(ids.begin(), ids.end(),
                   [&](int64_t a, int64_t b) { return shard(a) < shard(b); });
  for (EmbeddingService* service : {cluster.client(), local.get()}) {
    LookUpRows(service, kUser, ids);
    const PendingUpdate update(service, kUser, ids, 1, 1);
    ASSERT_TRUE(update.Wait().ok()) << update.Wait().message();
    EXPECT_EQ(update.counts().applied, ids.size());
  }
  EXPECT_EQ(LookUpRows(cluster.client(), kUser, ids),
            LookUpRows(local.get(), kUser, ids));
}

TEST_P(ShardCountTest, CountsOfAllShardsAreSummed) {
  Cluster cluster(GetParam());
  LookUpRows(cluster.client(), kUser, FirstIds(100));
  const PendingUpdate update(cluster.client(), kUser, FirstIds(130), 1, 1);
  ASSERT_TRUE(update.Wait().ok());
  EXPECT_EQ(update.counts().applied, 100u);
  EXPECT_EQ(update.counts().absent, 30u);

  CreateTableRequest again;
  again.deadline = DeadlineAfter(30);
  again.config = RowTable(kUser);
  CallResult result;
  cluster.client()->CreateTable(&again, result.done());
  ASSERT_TRUE(result.Wait().ok()) << result.Wait().message();
  EXPECT_EQ(again.rows, 100u);
}

TEST_P(ShardCountTest, StatsHaveOneProcessAShard) {
  Cluster cluster(GetParam());
  LookUpRows(cluster.client(), kUser, FirstIds(1000));
  const std::vector<ServiceStats> stats = StatsOf(cluster.client());
  ASSERT_EQ(stats.size(), GetParam());
  uint64_t rows = 0;
  for (size_t i = 0; i < stats.size(); ++i) {
    EXPECT_EQ(stats[i].address, cluster.addresses()[i]);
    EXPECT_EQ(stats[i].connections, 1u);
    ASSERT_EQ(stats[i].tables.size(), 1u);
    EXPECT_GT(stats[i].tables[0].rows, 0u);
    rows += stats[i].tables[0].rows;
  }
  EXPECT_EQ(rows, 1000u);
}

// A server knows only the address on which it listens, such as 0.0.0.0.
TEST(RemoteServiceTest, StatsNameServersAsTheClientDoes) {
  Shard shard;
  const std::string address = Concat("localhost:", shard.port());
  const auto client = MakeClient({address});
  const std::vector<ServiceStats> stats = StatsOf(client.get());
  ASSERT_EQ(stats.size(), 1u);
  EXPECT_EQ(stats[0].address, address);
}

TEST_P(ShardCountTest, SeveralTablesShareARequest) {
  Cluster cluster(GetParam());
  CreateRowTable(cluster.client(), kItem);
  const std::vector<int64_t> users = FirstIds(300);
  const std::vector<int64_t> items = {7, -7, 1 << 30};
  std::vector<float> user_rows(users.size() * kRowDim);
  std::vector<float> item_rows(items.size() * kRowDim);
  LookupRequest request;
  request.deadline = DeadlineAfter(30);
  request.tables.resize(3);
  request.tables[0].ids.table = HashName(kUser);
  request.tables[0].ids.ids = users;
  request.tables[0].rows = user_rows;
  request.tables[1].ids.table = HashName(kItem);  // No ids at all.
  request.tables[2].ids.table = HashName(kItem);
  request.tables[2].ids.ids = items;
  request.tables[2].rows = item_rows;
  for (TableLookup& table : request.tables) table.ids.dim = kRowDim;
  CallResult result;
  cluster.client()->Lookup(&request, result.done());
  ASSERT_TRUE(result.Wait().ok()) << result.Wait().message();
  EXPECT_EQ(user_rows, LookUpRows(cluster.client(), kUser, users));
  EXPECT_EQ(item_rows, LookUpRows(cluster.client(), kItem, items));
  // Each shard got one request for the three tables, and the two lookups after
  // it.
  for (const ServiceStats& shard : StatsOf(cluster.client())) {
    EXPECT_LE(shard.lookups, 3u);
  }
}

TEST_P(ShardCountTest, ClientsWorkAtOnce) {
  Cluster cluster(GetParam());
  RemoteServiceOptions options;
  options.io_threads = 2;
  const auto other = MakeClient(cluster.addresses(), options);
  const std::vector<int64_t> ids = FirstIds(500);
  const std::vector<float> rows = LookUpRows(cluster.client(), kUser, ids);
  std::vector<std::thread> threads;
  for (EmbeddingService* client :
       {cluster.client(), other.get(), cluster.client(), other.get()}) {
    threads.emplace_back([&, client] {
      for (int i = 0; i < 20; ++i) {
        EXPECT_EQ(LookUpRows(client, kUser, ids), rows);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(RemoteServiceTest, ManyRequestsFlyAtOnce) {
  Cluster cluster(2);
  std::vector<std::unique_ptr<PendingLookup>> lookups;
  for (int64_t i = 0; i < 200; ++i) {
    lookups.push_back(std::make_unique<PendingLookup>(
        cluster.client(), kUser, std::vector<int64_t>{i, i + 1}));
  }
  for (int64_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(lookups[i]->Wait().ok());
    EXPECT_EQ(lookups[i]->rows(),
              LookUpRows(cluster.client(), kUser, {i, i + 1}));
  }
}

TEST(RemoteServiceTest, CallsMayBeMadeFromACompletion) {
  Cluster cluster(1);
  const std::vector<int64_t> ids = {1, 2};
  std::vector<float> rows(ids.size() * kRowDim);
  LookupRequest first;
  first.deadline = DeadlineAfter(30);
  first.tables.resize(1);
  first.tables[0].ids.table = HashName(kUser);
  first.tables[0].ids.dim = kRowDim;
  first.tables[0].ids.ids = ids;
  first.tables[0].rows = rows;
  LookupRequest second = first;
  CallResult result;
  cluster.client()->Lookup(&first, [&](const Status& status) {
    EXPECT_TRUE(status.ok());
    cluster.client()->Lookup(&second, result.done());
  });
  EXPECT_TRUE(result.Wait().ok());
}

TEST(RemoteServiceTest, ShardsWithoutIdsAreNotAsked) {
  Cluster cluster(5);
  LookUpRows(cluster.client(), kUser, {42});
  const std::vector<ServiceStats> stats = StatsOf(cluster.client());
  for (uint32_t s = 0; s < 5; ++s) {
    EXPECT_EQ(stats[s].lookups, s == ShardOf(42, 5) ? 1u : 0u) << s;
  }
}

TEST(RemoteServiceTest, RequestWithoutIdsIsAnswered) {
  Cluster cluster(3);
  cluster.shard(0).service()->SetGeneration(9);
  const PendingLookup lookup(cluster.client(), kUser, {});
  EXPECT_TRUE(lookup.Wait().ok());
  EXPECT_EQ(lookup.generation(), 9u);
}

TEST(RemoteServiceTest, ErrorsKeepTheirCodeAndNameTheShard) {
  Cluster cluster(2);
  const PendingLookup lookup(cluster.client(), "nobody made this",
                             FirstIds(100));
  EXPECT_EQ(lookup.Wait().code(), Code::kNotFound);
  EXPECT_EQ(lookup.Wait().message().find(
                Concat("shard 0 of 2 (", cluster.shard(0).address(), "): ")),
            0u)
      << lookup.Wait().message();
}

TEST(RemoteServiceTest, OneFailedShardFailsTheCallAndIsNamed) {
  Cluster cluster(3);
  cluster.shard(2).service()->FailNext(1, Status(Code::kInternal, "oh no"));
  const PendingLookup lookup(cluster.client(), kUser, FirstIds(100));
  EXPECT_EQ(lookup.Wait().code(), Code::kInternal);
  EXPECT_EQ(lookup.Wait().message(),
            Concat("shard 2 of 3 (", cluster.shard(2).address(), "): oh no"));
}

TEST(RemoteServiceTest, ShardsOfAnotherGenerationAreRefused) {
  Cluster cluster(2);
  cluster.shard(0).service()->SetGeneration(4);
  cluster.shard(1).service()->SetGeneration(5);
  const PendingLookup lookup(cluster.client(), kUser, FirstIds(100));
  EXPECT_EQ(lookup.Wait().code(), Code::kFailedPrecondition);
  EXPECT_NE(lookup.Wait().message().find("a restore is in progress"),
            std::string::npos);
  cluster.shard(0).service()->SetGeneration(5);
  const PendingLookup again(cluster.client(), kUser, FirstIds(100));
  EXPECT_TRUE(again.Wait().ok());
  EXPECT_EQ(again.generation(), 5u);
}

TEST(RemoteServiceTest, BagsOfSeveralShardsArePooledByTheClient) {
  Cluster cluster(2);
  const std::vector<int64_t> ids = FirstIds(20);
  const std::vector<uint32_t> offsets = {0, 20};
  std::vector<float> rows(kRowDim);
  LookupRequest request;
  request.deadline = DeadlineAfter(30);
  request.tables.resize(1);
  request.tables[0].ids.table = HashName(kUser);
  request.tables[0].ids.dim = kRowDim;
  request.tables[0].ids.ids = ids;
  request.tables[0].ids.combiner = Combiner::kSum;
  request.tables[0].ids.bag_offsets = offsets;
  request.tables[0].rows = rows;
  CallResult result;
  cluster.client()->Lookup(&request, result.done());
  ASSERT_TRUE(result.Wait().ok()) << result.Wait().message();
  const std::vector<float> each = LookUpRows(cluster.client(), kUser, ids);
  for (size_t d = 0; d < kRowDim; ++d) {
    float sum = 0;
    for (size_t i = 0; i < ids.size(); ++i) sum += each[i * kRowDim + d];
    EXPECT_FLOAT_EQ(rows[d], sum);
  }
}

TEST(RemoteServiceTest, MemoryOfAnotherSizeIsRefused) {
  Cluster cluster(2);
  const std::vector<int64_t> ids = {1, 2};
  std::vector<float> too_few(2 * kRowDim - 1);
  LookupRequest lookup;
  lookup.deadline = DeadlineAfter(30);
  lookup.tables.resize(1);
  lookup.tables[0].ids.dim = kRowDim;
  lookup.tables[0].ids.ids = ids;
  lookup.tables[0].rows = too_few;
  CallResult looked_up;
  cluster.client()->Lookup(&lookup, looked_up.done());
  EXPECT_EQ(looked_up.Wait().code(), Code::kInvalidArgument);

  UpdateRequest update;
  update.deadline = DeadlineAfter(30);
  update.tables.resize(1);
  update.tables[0].ids = lookup.tables[0].ids;
  update.tables[0].gradients = too_few;
  CallResult updated;
  cluster.client()->Update(&update, updated.done());
  EXPECT_EQ(updated.Wait().code(), Code::kInvalidArgument);
}

TEST(RemoteServiceTest, AddressesThatDoNotParseAreRefused) {
  EXPECT_EQ(MakeRemoteService({"127.0.0.1:1", "nonsense"}, {}).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(MakeRemoteService({}, {}).status().code(), Code::kInvalidArgument);
}

TEST(RemoteServiceTest, OptionsOutOfRangeAreRefused) {
  RemoteServiceOptions options;
  options.io_threads = 0;
  EXPECT_EQ(MakeRemoteService({"127.0.0.1:1"}, options).status().code(),
            Code::kInvalidArgument);
  options = RemoteServiceOptions();
  options.first_backoff_seconds = 0;
  EXPECT_EQ(MakeRemoteService({"127.0.0.1:1"}, options).status().code(),
            Code::kInvalidArgument);
  options = RemoteServiceOptions();
  options.max_backoff_seconds = options.first_backoff_seconds / 2;
  EXPECT_EQ(MakeRemoteService({"127.0.0.1:1"}, options).status().code(),
            Code::kInvalidArgument);
  options = RemoteServiceOptions();
  options.wire_dtype = static_cast<WireDtype>(5);
  EXPECT_EQ(MakeRemoteService({"127.0.0.1:1"}, options).status().message(),
            "wire dtype must be 0 to 4, received 5");
}

TEST(RemoteServiceTest, NamesAreResolved) {
  Cluster cluster(1);
  const auto client =
      MakeClient({Concat("localhost:", cluster.shard(0).port())});
  EXPECT_EQ(LookUpRows(client.get(), kUser, FirstIds(3)),
            LookUpRows(cluster.client(), kUser, FirstIds(3)));
}

// An embedding worker: a server whose service is a client of shards.
TEST(RemoteServiceTest, MayBeServed) {
  Cluster cluster(2);
  auto worker = StartServer(cluster.client(), ServerOptions());
  ASSERT_TRUE(worker.ok());
  const auto client = MakeClient({LocalHost((*worker)->port())});
  const std::vector<int64_t> ids = FirstIds(500);
  EXPECT_EQ(LookUpRows(client.get(), kUser, ids),
            LookUpRows(cluster.client(), kUser, ids));
  const PendingUpdate update(client.get(), kUser, ids, 1, 1);
  EXPECT_TRUE(update.Wait().ok());
  EXPECT_EQ(update.counts().applied, ids.size());
  EXPECT_EQ(StatsOf(client.get()).size(), 3u);
}

}  // namespace
}  // namespace persia
