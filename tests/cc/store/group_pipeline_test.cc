#include "cc/store/group_pipeline.h"

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

class GroupPipelineTest : public ::testing::Test {
 protected:
  // A part that a step was called for.
  struct Step {
    bool finishes;
    const SubShard* sub_shard;
    Ids ids;
    std::vector<uint32_t> places;
    std::byte** rows;
  };

  GroupPipelineTest() {
    for (size_t s = 0; s < kSubShards; ++s) {
      sub_shards_.push_back(std::make_unique<SubShard>(
          &rules_, s, MakeAdmission(SpecOf("always"), 0, 1.0)));
    }
  }

  // The steps for `ids`, in order.
  std::vector<Step> StepsFor(const Ids& ids) {
    groups_.Build(ids);
    std::vector<Step> steps;
    const auto note = [&steps](bool finishes, const auto& part) {
      const auto& [group_ids, places] = part.group;
      steps.push_back(
          {finishes, part.sub_shard, Ids(group_ids.begin(), group_ids.end()),
           std::vector<uint32_t>(places.begin(), places.end()), part.rows});
    };
    GroupPipeline(groups_, sub_shards_)
        .Run([&](const auto& part) { note(false, part); },
             [&](const auto& part) { note(true, part); });
    return steps;
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

TEST_F(GroupPipelineTest, StartsAndFinishesEachGroupInOrder) {
  const auto steps = StepsFor(OneOfEach(kSubShards));
  ASSERT_EQ(steps.size(), 2 * kSubShards);
  size_t started = 0;
  size_t finished = 0;
  for (const Step& step : steps) {
    size_t& next = step.finishes ? finished : started;
    EXPECT_EQ(step.sub_shard, sub_shards_[next++].get());
    EXPECT_GE(started, finished);
  }
  EXPECT_EQ(finished, kSubShards);
}

// So that the cache misses of small groups overlap.
TEST_F(GroupPipelineTest, StartsManySmallGroupsBeforeItFinishesTheFirst) {
  const auto steps = StepsFor(OneOfEach(kSubShards));
  for (size_t s = 0; s < 32; ++s) EXPECT_FALSE(steps[s].finishes) << s;
  EXPECT_TRUE(steps[32].finishes);
  EXPECT_FALSE(steps[33].finishes);
}

// Otherwise other requests would wait for a sub-shard as long as a request
// takes.
TEST_F(GroupPipelineTest, ALargeGroupGivesItsLockUpFromTimeToTime) {
  Ids ids = IdsOfSubShard(5, 2 * kMostIdsALock + 10);
  ids.push_back(IdsOfSubShard(8, 1)[0]);
  const auto steps = StepsFor(ids);
  ASSERT_EQ(steps.size(), 8u);
  Ids seen;
  for (const Step& step : steps) {
    EXPECT_LE(step.ids.size(), kMostIdsALock);
    if (step.finishes)
      seen.insert(seen.end(), step.ids.begin(), step.ids.end());
  }
  EXPECT_EQ(seen, ids);
  // One part of a sub-shard is finished before the next one is started.
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(steps[i].finishes, i % 2 == 1) << i;
}

TEST_F(GroupPipelineTest, EveryIdHasAPlaceForItsRow) {
  Ids ids;
  for (int64_t id = 0; id < 500; ++id) ids.push_back(id * 7919);
  std::set<uint32_t> places;
  std::set<std::byte**> in_use;  // From a part's start to its end.
  for (const Step& step : StepsFor(ids)) {
    for (size_t i = 0; i < step.ids.size(); ++i) {
      EXPECT_EQ(step.ids[i], ids[step.places[i]]);
      if (step.finishes) {
        EXPECT_EQ(in_use.erase(step.rows + i), 1u);
        places.insert(step.places[i]);
      } else {
        EXPECT_TRUE(in_use.insert(step.rows + i).second);
      }
    }
  }
  EXPECT_EQ(places.size(), ids.size());
  EXPECT_TRUE(in_use.empty());
}

TEST_F(GroupPipelineTest, NoIdsAreNoSteps) {
  EXPECT_TRUE(StepsFor({}).empty());
}

TEST_F(GroupPipelineTest, HoldsALockFromAPartsStartToItsEnd) {
  groups_.Build(OneOfEach(2));
  std::atomic<int> ended{0};
  std::vector<std::future<int>> waited;
  GroupPipeline(groups_, sub_shards_)
      .Run(
          [&](const GroupPipeline::Part& part) {
            waited.push_back(
                std::async(std::launch::async, [&, &part = *part.sub_shard] {
                  TableStats stats;
                  part.AddStats(&stats);
                  return ended.load();
                }));
          },
          [&](const GroupPipeline::Part& /*part*/) { ++ended; });
  EXPECT_GE(waited[0].get(), 1);
  EXPECT_EQ(waited[1].get(), 2);
}

TEST_F(GroupPipelineTest, AStepThatThrowsLeavesNoLock) {
  groups_.Build(OneOfEach(kSubShards));
  const auto fail = [](const GroupPipeline::Part& /*part*/) {
    throw std::bad_alloc();
  };
  const auto work = [](const GroupPipeline::Part& /*part*/) {};
  EXPECT_THROW(GroupPipeline(groups_, sub_shards_).Run(fail, work),
               std::bad_alloc);
  EXPECT_THROW(GroupPipeline(groups_, sub_shards_).Run(work, fail),
               std::bad_alloc);
  for (const auto& sub_shard : sub_shards_) {
    TableStats stats;
    sub_shard->AddStats(&stats);  // Would wait for ever.
  }
}

}  // namespace
}  // namespace persia
