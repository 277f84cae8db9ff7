// A client of embedding workers, each of which reaches all rows.

#include <gtest/gtest.h>

#include <numeric>
#include <utility>
#include <vector>

#include "cc/base/hash.h"
#include "cc/client/part_client.h"
#include "cc/service/worker_service.h"
#include "tests/cc/client/workers_fixture.h"

namespace persia {
namespace {

TEST_F(WorkersTest, RowsBehindSeveralAreCountedOnce) {
  CreateTable();
  LookUpRows(client_.get(), kUser, FirstIds(100));
  const CreateTableRequest again = CreateTable();
  EXPECT_TRUE(again.takes_bags);
  EXPECT_EQ(again.rows, 100u);
}

TEST_F(WorkersTest, RowsAreSummedUnlessAllTakeBags) {
  worker(1).RefuseBags();
  CreateTable();
  LookUpRows(client_.get(), kUser, FirstIds(100));
  const CreateTableRequest again = CreateTable();
  EXPECT_FALSE(again.takes_bags);
  EXPECT_EQ(again.rows, 200u);
}

TEST_F(WorkersTest, ATableIsDroppedBehindSeveralAndMadeAnew) {
  CreateTable();
  LookUpRows(client_.get(), kUser, FirstIds(100));
  DropTableRequest drop;
  drop.deadline = DeadlineAfter(30);
  drop.table = HashName(kUser);
  drop.drop_id = 5;
  CallResult result;
  client_->DropTable(&drop, result.done());
  ASSERT_TRUE(result.Wait().ok()) << result.Wait().message();
  const CreateTableRequest again = CreateTable();
  EXPECT_EQ(again.rows, 0u);
}

Status LookUpFor(EmbeddingService* service, uint64_t client,
                 uint64_t visible_sequence) {
  const std::vector<int64_t> ids = FirstIds(100);
  std::vector<float> rows(ids.size() * kRowDim);
  LookupRequest request;
  request.deadline = DeadlineAfter(30);
  request.client = client;
  request.visible_sequence = visible_sequence;
  request.tables.resize(1);
  request.tables[0].ids.table = HashName(kUser);
  request.tables[0].ids.dim = kRowDim;
  request.tables[0].ids.ids = ids;
  request.tables[0].rows = rows;
  CallResult result;
  service->Lookup(&request, result.done());
  return result.Wait();
}

TEST_F(WorkersTest, PartsOfALookupSayWhatTheyMustSee) {
  CreateTable();
  ASSERT_TRUE(LookUpFor(client_.get(), 11, 12).ok());
  for (uint32_t i = 0; i < 2; ++i) {
    const std::vector<WorkerService::Asked> lookups = worker(i).lookups();
    ASSERT_EQ(lookups.size(), 1u);
    EXPECT_EQ(lookups[0].client, PartClient(11, i + 1));
    EXPECT_EQ(lookups[0].visible_sequence, 12u);
  }
}

TEST_F(WorkersTest, ALookupOfOneWorkerKeepsItsClient) {
  CreateTable();
  const auto client = MakeClient({LocalHost(servers_[0]->port())});
  ASSERT_TRUE(LookUpFor(client.get(), 11, 12).ok());
  ASSERT_EQ(worker(0).lookups().size(), 1u);
  EXPECT_EQ(worker(0).lookups()[0].client, 11u);
  EXPECT_EQ(worker(0).lookups()[0].visible_sequence, 12u);
}

TEST_F(WorkersTest, AnUpdateIsAppliedInFullAndOnce) {
  CreateTable();
  const std::vector<int64_t> ids = FirstIds(500);
  const std::vector<float> before = LookUpRows(client_.get(), kUser, ids);
  const PendingUpdate update(client_.get(), kUser, ids, 1, 1);
  ASSERT_TRUE(update.Wait().ok()) << update.Wait().message();
  EXPECT_EQ(update.counts().applied, ids.size());
  const std::vector<float> after = LookUpRows(client_.get(), kUser, ids);
  for (size_t i = 0; i < before.size(); ++i) {
    EXPECT_EQ(after[i], before[i] - static_cast<float>(i / kRowDim + 1)) << i;
  }

  const PendingUpdate repeat(client_.get(), kUser, ids, 1, 1);
  ASSERT_TRUE(repeat.Wait().ok()) << repeat.Wait().message();
  EXPECT_EQ(repeat.counts().applied, 0u);
  EXPECT_EQ(LookUpRows(client_.get(), kUser, ids), after);
  EXPECT_EQ(StatsOf(shard_.service())[0].repeated_updates, 2u);
}

TEST_F(WorkersTest, RowsBehindSeveralAreExportedOnce) {
  CreateTable();
  LookUpRows(client_.get(), kUser, FirstIds(100));
  EXPECT_EQ(ExportRows(client_.get(), kUser, 7).size(), 100u);
}

// The parameter is the number of shards behind the workers.
class ShardsBehindWorkersTest : public testing::TestWithParam<size_t> {};

INSTANTIATE_TEST_SUITE_P(Shards, ShardsBehindWorkersTest,
                         testing::Values(1, 3));

TEST_P(ShardsBehindWorkersTest, AClientThatMadeNoTableExportsRowsOnce) {
  Cluster shards(GetParam());
  LookUpRows(shards.client(), kUser, FirstIds(100));
  std::vector<std::unique_ptr<EmbeddingService>> workers;
  std::vector<std::unique_ptr<Server>> servers;
  std::vector<std::string> addresses;
  for (int i = 0; i < 2; ++i) {
    workers.push_back(MakeWorkerService(MakeClient(shards.addresses()), 0));
    auto server = StartServer(workers.back().get(), ServerOptions());
    ASSERT_TRUE(server.ok()) << server.status().message();
    addresses.push_back(LocalHost((*server)->port()));
    servers.push_back(std::move(*server));
  }
  const auto client = MakeClient(addresses);
  EXPECT_EQ(ExportRows(client.get(), kUser, 7).size(), 100u);
  ExportRequest absent;
  absent.deadline = DeadlineAfter(30);
  absent.table = 12345;
  absent.max_rows = 1;
  CallResult result;
  client->Export(&absent, result.done());
  EXPECT_EQ(result.Wait().code(), Code::kNotFound);
}

// Bags of one table, with the rows and updates that a service makes of them.
class Bags {
 public:
  explicit Bags(std::vector<int64_t> ids = {1, 2, 3, 2},
                std::vector<uint32_t> offsets = {0, 2, 2, 4})
      : ids_(std::move(ids)),
        offsets_(std::move(offsets)),
        weights_(ids_.size(), 0.5f) {
    bags_.table = HashName(kUser);
    bags_.dim = kRowDim;
    bags_.ids = ids_;
    bags_.combiner = Combiner::kMean;
    bags_.bag_offsets = offsets_;
    bags_.weights = weights_;
  }

  // Looks the bags up, together with plain ids.
  Status Lookup(EmbeddingService* service) {
    vectors_.assign(bags_.vectors() * kRowDim, -1.0f);
    plain_rows_.assign(plain_ids_.size() * kRowDim, -1.0f);
    LookupRequest request;
    request.deadline = DeadlineAfter(30);
    request.tables = {TableLookup{bags_, vectors_},
                      TableLookup{Plain(), plain_rows_}};
    CallResult result;
    service->Lookup(&request, result.done());
    return result.Wait();
  }

  Status Update(EmbeddingService* service) {
    std::vector<float> gradients(bags_.vectors() * kRowDim);
    std::iota(gradients.begin(), gradients.end(), 1.0f);
    UpdateRequest request;
    request.deadline = DeadlineAfter(30);
    request.client = 1;
    request.sequence = 1;
    request.tables = {TableUpdate{bags_, gradients, 1.0f}};
    CallResult result;
    service->Update(&request, result.done());
    const Status status = result.Wait();
    EXPECT_EQ(request.counts.applied, 3u);  // Unique ids.
    return status;
  }

  const std::vector<float>& vectors() const { return vectors_; }
  const std::vector<float>& plain_rows() const { return plain_rows_; }

 private:
  TableIds Plain() const {
    TableIds plain;
    plain.table = HashName(kUser);
    plain.dim = kRowDim;
    plain.ids = plain_ids_;
    return plain;
  }

  const std::vector<int64_t> ids_;
  const std::vector<uint32_t> offsets_;
  const std::vector<float> weights_;
  const std::vector<int64_t> plain_ids_ = FirstIds(50);
  TableIds bags_;
  std::vector<float> vectors_;
  std::vector<float> plain_rows_;
};

TEST_F(WorkersTest, BagsGoWholeToOneWorker) {
  CreateTable();
  Bags through_workers, directly;
  for (int step = 0; step < 2; ++step) {
    const Status status = through_workers.Lookup(client_.get());
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(directly.Lookup(shard_.service()).ok());
    EXPECT_EQ(through_workers.vectors(), directly.vectors());
    EXPECT_EQ(through_workers.plain_rows(), directly.plain_rows());
    if (step == 0) {
      ASSERT_TRUE(through_workers.Update(client_.get()).ok());
    }
  }
  EXPECT_EQ(StatsOf(shard_.service())[0].updates, 1u);
}

TEST_F(WorkersTest, EmptyBagsAreAnswered) {
  CreateTable();
  Bags bags({}, {0, 0, 0});
  ASSERT_TRUE(bags.Lookup(client_.get()).ok());
  EXPECT_EQ(bags.vectors(), std::vector<float>(2 * kRowDim, 0.0f));
  Bags none({}, {0});
  ASSERT_TRUE(none.Lookup(client_.get()).ok());
}

TEST_F(WorkersTest, BagsOfATableThatWasNotCreatedAreRefused) {
  EXPECT_EQ(Bags().Lookup(client_.get()).code(), Code::kInvalidArgument);
}

TEST_F(WorkersTest, BagsAreRefusedUnlessAllTakeThem) {
  CreateTable();
  worker(1).RefuseBags();
  CreateTable();
  EXPECT_EQ(Bags().Lookup(client_.get()).code(), Code::kInvalidArgument);
}

TEST_F(WorkersTest, BagsThatAreNotWellFormedAreRefused) {
  CreateTable();
  Bags bags({1, 2}, {0, 3});
  EXPECT_EQ(bags.Lookup(client_.get()).code(), Code::kInvalidArgument);
}

TEST_F(WorkersTest, ASingleAddressIsHandedAllBags) {
  CreateTable();
  const auto client = MakeClient({shard_.address()});
  Bags remote, directly;
  const Status status = remote.Lookup(client.get());
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_TRUE(directly.Lookup(shard_.service()).ok());
  EXPECT_EQ(remote.vectors(), directly.vectors());
  EXPECT_TRUE(remote.Update(client.get()).ok());
}

}  // namespace
}  // namespace persia
