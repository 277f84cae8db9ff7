#include "cc/store/bundle.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "tests/cc/store/make_config.h"
#include "tests/cc/store/table_calls.h"

namespace persia {
namespace {

template <typename T>
T Taken(Result<T> made) {
  return std::move(*made);
}

class BundleTest : public ::testing::Test {
 protected:
  BundleTest() {
    for (size_t s = 0; s < kSubShards; ++s) {
      sub_shards_.push_back(std::make_unique<SubShard>(
          &rules_, s, MakeAdmission(SpecOf("always"), 0, 1.0)));
    }
  }

  // The parts of each bundle of `ids`.
  std::vector<std::vector<Bundle::Part>> BundlesOf(const Ids& ids) {
    groups_.Build(ids);
    std::vector<std::vector<Bundle::Part>> bundles;
    for (Bundle::Next next; !next.at_end();) {
      const Bundle bundle(groups_, sub_shards_, &next);
      bundles.emplace_back(bundle.begin(), bundle.end());
    }
    return bundles;
  }

  const RowRules rules_{4,
                        0,
                        16,
                        16,
                        16,
                        0,
                        0,
                        Eviction(SpecOf("never")),
                        Taken(MakeInitializer(SpecOf("zeros"))),
                        Taken(MakeOptimizer(SpecOf("sgd"))),
                        Taken(MakeRowFormat(SpecOf("float32")))};
  SubShards sub_shards_;
  IdGroups groups_;
};

Ids OneOfEach(size_t sub_shards) {
  Ids ids;
  for (size_t s = 0; s < sub_shards; ++s) ids.push_back(IdsOfSubShard(s, 1)[0]);
  return ids;
}

TEST_F(BundleTest, GroupsOfFewIdsGoTogether) {
  const auto bundles = BundlesOf(OneOfEach(20));
  ASSERT_EQ(bundles.size(), 1u);
  ASSERT_EQ(bundles[0].size(), 20u);
  for (size_t s = 0; s < 20; ++s) {
    EXPECT_EQ(bundles[0][s].sub_shard, sub_shards_[s].get());
  }
}

TEST_F(BundleTest, ABundleHoldsOnlySoMany) {
  const auto bundles = BundlesOf(OneOfEach(kSubShards));
  ASSERT_EQ(bundles.size(), 2u);
  EXPECT_EQ(bundles[0].size(), 32u);
  EXPECT_EQ(bundles[1].size(), 32u);
}

TEST_F(BundleTest, ALargeGroupGoesAlone) {
  Ids ids = IdsOfSubShard(3, 1);
  for (const int64_t id : IdsOfSubShard(5, 100)) ids.push_back(id);
  ids.push_back(IdsOfSubShard(8, 1)[0]);
  const auto bundles = BundlesOf(ids);
  ASSERT_EQ(bundles.size(), 3u);
  EXPECT_EQ(bundles[1].size(), 1u);
  EXPECT_EQ(bundles[1][0].group.ids.size(), 100u);
}

// Otherwise other requests would wait for a sub-shard as long as a request
// takes.
TEST_F(BundleTest, AGroupGivesItsLockUpFromTimeToTime) {
  Ids ids = IdsOfSubShard(5, 2 * kMostIdsALock + 10);
  ids.push_back(IdsOfSubShard(8, 1)[0]);
  const auto bundles = BundlesOf(ids);
  ASSERT_EQ(bundles.size(), 3u);
  Ids seen;
  for (const auto& parts : bundles) {
    EXPECT_LE(parts[0].group.ids.size(), kMostIdsALock);
    for (const Bundle::Part& part : parts) {
      seen.insert(seen.end(), part.group.ids.begin(), part.group.ids.end());
    }
  }
  EXPECT_EQ(seen, ids);
  EXPECT_EQ(bundles[2].size(), 2u);
}

TEST_F(BundleTest, EveryIdHasAPlaceForItsRowInOneBundle) {
  Ids ids;
  for (int64_t id = 0; id < 500; ++id) ids.push_back(id * 7919);
  std::set<uint32_t> places;
  for (const auto& parts : BundlesOf(ids)) {
    std::set<std::byte**> rows;
    size_t count = 0;
    for (const Bundle::Part& part : parts) {
      for (size_t i = 0; i < part.group.ids.size(); ++i, ++count) {
        EXPECT_EQ(part.group.ids[i], ids[part.group.places[i]]);
        places.insert(part.group.places[i]);
        rows.insert(part.rows + i);
      }
    }
    EXPECT_EQ(rows.size(), count);
  }
  EXPECT_EQ(places.size(), ids.size());
}

TEST_F(BundleTest, NoIdsAreNoParts) {
  const auto bundles = BundlesOf({});
  ASSERT_EQ(bundles.size(), 1u);
  EXPECT_TRUE(bundles[0].empty());
}

TEST_F(BundleTest, OthersWaitForItsSubShardsUntilItEnds) {
  groups_.Build(OneOfEach(2));
  Bundle::Next next;
  auto bundle = std::make_unique<Bundle>(groups_, sub_shards_, &next);
  std::atomic<bool> ends{false};
  std::vector<std::future<bool>> waited;
  for (size_t s = 0; s < 2; ++s) {
    waited.push_back(std::async(std::launch::async, [&, s] {
      TableStats stats;
      sub_shards_[s]->AddStats(&stats);
      return ends.load();
    }));
  }
  TableStats stats;
  sub_shards_[2]->AddStats(&stats);  // Not part of the bundle.
  ends = true;
  bundle.reset();
  for (std::future<bool>& other : waited) EXPECT_TRUE(other.get());
}

}  // namespace
}  // namespace persia
