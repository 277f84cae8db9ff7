#include "cc/shard/trainers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace persia {
namespace {

TEST(TrainersTest, TellTheNewestAndTheLargestStaleness) {
  Trainers trainers;
  for (const uint32_t staleness : {1u, 5u, 2u}) {
    trainers.OnUpdate({"b:2", staleness});
  }
  trainers.OnUpdate({"a:1", 0});
  const std::vector<TrainerStats> stats = trainers.Stats();
  ASSERT_EQ(stats.size(), 2u);
  EXPECT_EQ(stats[0].program, "a:1");
  EXPECT_EQ(stats[0].updates, 1u);
  EXPECT_EQ(stats[1].program, "b:2");
  EXPECT_EQ(stats[1].updates, 3u);
  EXPECT_EQ(stats[1].staleness, 2u);
  EXPECT_EQ(stats[1].staleness_max, 5u);
}

TEST(TrainersTest, ClientsThatAreNoProgramAreNotTold) {
  Trainers trainers;
  trainers.OnUpdate(TrainerState());
  EXPECT_TRUE(trainers.Stats().empty());
}

TEST(TrainersTest, TheLongestIdleIsForgottenBeyondTheLimit) {
  Trainers trainers;
  for (size_t i = 0; i <= Trainers::kMost; ++i) {
    trainers.OnUpdate({"p" + std::to_string(i), 0});
  }
  const std::vector<TrainerStats> stats = trainers.Stats();
  EXPECT_EQ(stats.size(), Trainers::kMost);
  for (const TrainerStats& each : stats) EXPECT_NE(each.program, "p0");
}

}  // namespace
}  // namespace persia
