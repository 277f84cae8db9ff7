#include "cc/client/table_routes.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/cc/support/shard_of.h"

namespace persia {
namespace {

ClusterView ViewOf(uint32_t servers) {
  ClusterView view;
  view.channels.resize(servers);
  view.owners = SlotOwners::Even(servers);
  return view;
}

class TableRoutesTest : public testing::Test {
 protected:
  TableIds Bags(TableKey table) const {
    TableIds bags = Plain(table);
    bags.combiner = Combiner::kSum;
    bags.bag_offsets = offsets_;
    return bags;
  }

  TableIds Plain(TableKey table) const {
    TableIds plain;
    plain.table = table;
    plain.dim = 1;
    plain.ids = ids_;
    return plain;
  }

  const std::vector<int64_t> ids_ = {1, 2, 3};
  const std::vector<uint32_t> offsets_ = {0, 1, 3};
};

TEST_F(TableRoutesTest, PlainIdsAreSplit) {
  TableRoutes routes;
  const ClusterView view = ViewOf(5);
  routes.SetTakesBags(7, true);
  const Result<Partition::Table> route = routes.Route(Plain(7), view);
  ASSERT_TRUE(route.ok());
  EXPECT_FALSE(route->owner);
  EXPECT_EQ(route->vectors, 3u);
}

TEST_F(TableRoutesTest, BagsGoToTheAddressOfTheirTable) {
  TableRoutes routes;
  const ClusterView view = ViewOf(5);
  for (TableKey table = 1; table < 50; ++table) {
    routes.SetTakesBags(table, true);
    const Result<Partition::Table> route = routes.Route(Bags(table), view);
    ASSERT_TRUE(route.ok());
    EXPECT_EQ(route->owner, ShardOf(static_cast<int64_t>(table), 5));
    EXPECT_EQ(route->vectors, 2u);
    EXPECT_EQ(route->ids.data(), ids_.data());
  }
}

TEST_F(TableRoutesTest, BagsNeedEachTablesWord) {
  TableRoutes routes;
  const ClusterView view = ViewOf(2);
  EXPECT_EQ(routes.Route(Bags(7), view).status().code(),
            Code::kInvalidArgument);
  routes.SetTakesBags(7, true);
  EXPECT_TRUE(routes.Route(Bags(7), view).ok());
  EXPECT_FALSE(routes.Route(Bags(8), view).ok());
  routes.SetTakesBags(7, false);
  EXPECT_FALSE(routes.Route(Bags(7), view).ok());
}

TEST_F(TableRoutesTest, ASingleAddressIsNotAskedFirst) {
  EXPECT_TRUE(TableRoutes().Route(Bags(7), ViewOf(1)).ok());
}

TEST_F(TableRoutesTest, WhoHasAllRowsIsKnownOnceItWasSaid) {
  TableRoutes routes;
  const ClusterView view = ViewOf(2);
  EXPECT_FALSE(routes.EachHasAllRows(7, view).has_value());
  routes.SetTakesBags(7, true);
  EXPECT_EQ(routes.EachHasAllRows(7, view), true);
  routes.SetTakesBags(7, false);
  EXPECT_EQ(routes.EachHasAllRows(7, view), false);
  EXPECT_EQ(TableRoutes().EachHasAllRows(7, ViewOf(1)), true);
}

TEST_F(TableRoutesTest, IdsThatAreNotWellFormedAreRefused) {
  TableIds plain = Plain(7);
  plain.bag_offsets = offsets_;
  EXPECT_EQ(TableRoutes().Route(plain, ViewOf(1)).status().code(),
            Code::kInvalidArgument);
  TableIds bags = Bags(7);
  bags.bag_offsets = {};
  EXPECT_EQ(TableRoutes().Route(bags, ViewOf(1)).status().code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace persia
