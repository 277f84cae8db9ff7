// Export, Assign and Remove over shards.

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "cc/base/hash.h"
#include "cc/shard/local_service.h"
#include "tests/cc/client/shards_fixture.h"

namespace persia {
namespace {

class WholeRowsTest : public testing::TestWithParam<size_t> {};

INSTANTIATE_TEST_SUITE_P(Shards, WholeRowsTest, testing::Values(1, 2, 5));

TEST_P(WholeRowsTest, AssignedRowsAreLookedUp) {
  Cluster cluster(GetParam());
  const auto local = MakeLocalService();
  CreateRowTable(local.get(), kUser);
  const std::vector<int64_t> ids = FirstIds(2000);
  for (EmbeddingService* service : {cluster.client(), local.get()}) {
    AssignRows(service, kUser, ids, 5);
  }
  EXPECT_EQ(LookUpRows(cluster.client(), kUser, ids),
            LookUpRows(local.get(), kUser, ids));
}

TEST_P(WholeRowsTest, AssignedRowsAreOnTheShardsThatLookupsAsk) {
  Cluster cluster(GetParam());
  AssignRows(cluster.client(), kUser, FirstIds(500), 0);
  LookUpRows(cluster.client(), kUser, FirstIds(500));  // Creates none.
  EXPECT_EQ(ExportRows(cluster.client(), kUser, 100).size(), 500u);
}

TEST_P(WholeRowsTest, ExportGivesEveryRowOnce) {
  Cluster cluster(GetParam());
  const std::vector<int64_t> ids = FirstIds(3000);
  const std::vector<float> rows = LookUpRows(cluster.client(), kUser, ids);
  for (const uint64_t max_rows : {uint64_t{7}, uint64_t{1} << 40}) {
    const auto exported = ExportRows(cluster.client(), kUser, max_rows);
    ASSERT_EQ(exported.size(), ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto row = rows.begin() + i * kRowDim;
      EXPECT_EQ(exported.at(ids[i]), std::vector<float>(row, row + kRowDim));
    }
  }
}

TEST_P(WholeRowsTest, ExportOfAnEmptyTableEnds) {
  Cluster cluster(GetParam());
  EXPECT_TRUE(ExportRows(cluster.client(), kUser, 10).empty());
}

TEST_P(WholeRowsTest, StateIsAssignedAndExported) {
  Cluster cluster(GetParam());
  CreateTableRequest create;
  create.deadline = DeadlineAfter(30);
  create.config = RowTable(kItem);
  create.config.optimizer = Spec::Parse("adagrad").value();
  CallResult created;
  cluster.client()->CreateTable(&create, created.done());
  ASSERT_TRUE(created.Wait().ok());

  const std::vector<int64_t> ids = FirstIds(300);
  std::vector<float> weights, state;
  for (size_t i = 0; i < ids.size() * kRowDim; ++i) {
    weights.push_back(static_cast<float>(i));
    state.push_back(static_cast<float>(i + 1));
  }
  AssignRequest assign;
  assign.deadline = DeadlineAfter(30);
  assign.table = HashName(kItem);
  assign.dim = kRowDim;
  assign.state_size = kRowDim;
  assign.ids = ids;
  assign.weights = weights;
  assign.state = state;
  CallResult assigned;
  cluster.client()->Assign(&assign, assigned.done());
  ASSERT_TRUE(assigned.Wait().ok()) << assigned.Wait().message();

  const auto exported = ExportRows(cluster.client(), kItem, 50);
  ASSERT_EQ(exported.size(), ids.size());
  for (const int64_t id : ids) {
    const auto i = static_cast<float>(id * kRowDim);
    EXPECT_EQ(exported.at(id),
              (std::vector<float>{i, i + 1, i + 2, i + 3, i + 1, i + 2, i + 3,
                                  i + 4}));
  }
}

TEST_P(WholeRowsTest, RemovedRowsAreCountedOverAllShards) {
  Cluster cluster(GetParam());
  LookUpRows(cluster.client(), kUser, FirstIds(100));
  const std::vector<int64_t> ids = {3, 99, 100, 5000};
  EXPECT_EQ(RemoveRows(cluster.client(), kUser, ids), 2u);
  EXPECT_EQ(RemoveRows(cluster.client(), kUser, ids), 0u);
  const auto left = ExportRows(cluster.client(), kUser, 1000);
  EXPECT_EQ(left.size(), 98u);
  EXPECT_EQ(left.count(3), 0u);
  EXPECT_EQ(left.count(4), 1u);
}

TEST_P(WholeRowsTest, AnUnknownTableIsNotFoundEvenWithoutIds) {
  Cluster cluster(GetParam());
  AssignRequest assign;
  assign.deadline = DeadlineAfter(30);
  assign.table = 12345;
  assign.dim = kRowDim;
  CallResult assigned;
  cluster.client()->Assign(&assign, assigned.done());
  EXPECT_EQ(assigned.Wait().code(), Code::kNotFound);
  RemoveRequest remove;
  remove.deadline = DeadlineAfter(30);
  remove.table = 12345;
  CallResult removed;
  cluster.client()->Remove(&remove, removed.done());
  EXPECT_EQ(removed.Wait().code(), Code::kNotFound);
  ExportRequest request;
  request.deadline = DeadlineAfter(30);
  request.table = 12345;
  request.max_rows = 1;
  CallResult exported;
  cluster.client()->Export(&request, exported.done());
  EXPECT_EQ(exported.Wait().code(), Code::kNotFound);
}

TEST(WholeRowsFaultsTest, ExportOfAShardThatIsNoneIsRefused) {
  Cluster cluster(2);
  ExportRequest request;
  request.deadline = DeadlineAfter(30);
  request.table = HashName(kUser);
  request.max_rows = 1;
  request.cursor.shard = 2;
  CallResult result;
  cluster.client()->Export(&request, result.done());
  EXPECT_EQ(result.Wait().code(), Code::kInvalidArgument);
  EXPECT_EQ(result.Wait().message(),
            "an export's shard must be below the number of shards, 2, "
            "received 2");
}

TEST(WholeRowsFaultsTest, AssignOfAnotherSizeIsRefused) {
  Cluster cluster(2);
  const std::vector<int64_t> ids = {1, 2};
  const std::vector<float> too_few(2 * kRowDim - 1);
  AssignRequest request;
  request.deadline = DeadlineAfter(30);
  request.table = HashName(kUser);
  request.dim = kRowDim;
  request.ids = ids;
  request.weights = too_few;
  CallResult result;
  cluster.client()->Assign(&request, result.done());
  EXPECT_EQ(result.Wait().code(), Code::kInvalidArgument);
}

TEST(WholeRowsFaultsTest, AFailedPageLeavesTheCursor) {
  Cluster cluster(2);
  LookUpRows(cluster.client(), kUser, FirstIds(100));
  ExportRequest request;
  request.deadline = DeadlineAfter(30);
  request.table = HashName(kUser);
  request.max_rows = 1000;
  request.cursor.shard = 1;
  cluster.shard(1).service()->FailNext(1, Status(Code::kInternal, "oh no"));
  CallResult failed;
  cluster.client()->Export(&request, failed.done());
  EXPECT_EQ(failed.Wait().message(),
            Concat("shard 1 of 2 (", cluster.shard(1).address(), "): oh no"));
  EXPECT_EQ(request.cursor.shard, 1u);
  CallResult again;
  cluster.client()->Export(&request, again.done());
  EXPECT_TRUE(again.Wait().ok());
  EXPECT_FALSE(request.page.ids.empty());
}

// The connection breaks before the replies come, so it is sent again.
TEST(WholeRowsFaultsTest, AnAssignIsSentAgainAfterABrokenConnection) {
  Cluster cluster(1);
  cluster.shard(0).service()->Hold();
  const std::vector<int64_t> ids = FirstIds(10);
  const std::vector<float> weights(ids.size() * kRowDim, 3);
  AssignRequest assign;
  assign.deadline = DeadlineAfter(30);
  assign.table = HashName(kUser);
  assign.dim = kRowDim;
  assign.ids = ids;
  assign.weights = weights;
  CallResult assigned;
  cluster.client()->Assign(&assign, assigned.done());
  cluster.shard(0).service()->WaitForHeld(1);
  cluster.shard(0).Kill();
  cluster.shard(0).Restart();
  cluster.shard(0).service()->WaitForHeld(2);
  cluster.shard(0).service()->ReleaseAll();
  EXPECT_TRUE(assigned.Wait().ok()) << assigned.Wait().message();
  EXPECT_EQ(LookUpRows(cluster.client(), kUser, ids), weights);
}

TEST(WholeRowsFaultsTest, AWorkerBeforeShardsExportsThemAll) {
  Cluster cluster(3);
  auto worker = StartServer(cluster.client(), ServerOptions());
  ASSERT_TRUE(worker.ok());
  const auto client = MakeClient({LocalHost((*worker)->port())});
  LookUpRows(client.get(), kUser, FirstIds(500));
  EXPECT_EQ(ExportRows(client.get(), kUser, 20),
            ExportRows(cluster.client(), kUser, 1000));
  EXPECT_EQ(ExportRows(client.get(), kUser, 20).size(), 500u);
}

}  // namespace
}  // namespace persia
