// A client of embedding workers, each of which stands before all rows.

#include <gtest/gtest.h>

#include <vector>

#include "cc/base/hash.h"
#include "cc/client/part_client.h"
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
    EXPECT_EQ(lookups[0].client, PartClient(11, i, 2));
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

}  // namespace
}  // namespace persia
