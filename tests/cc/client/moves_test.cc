// Slots that move from shard to shard, with all that belongs to them, while
// clients use them.

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>
#include <vector>

#include "tests/cc/client/moving_fixture.h"
#include "tests/cc/client/trainer.h"

namespace persia {
namespace {

TEST(MovesTest, RowsMoveWithTheirSlots) {
  MovingCluster cluster(3, 2, /*durable=*/false);
  const std::vector<int64_t> ids = FirstIds(5000);
  AssignRows(cluster.client(), kUser, ids, 5.0f);
  const auto before = LookUpRows(cluster.client(), kUser, ids);
  const SlotSet slots = FirstSlots(cluster.SlotsOf(0), 3000);
  const MoveProgress progress = cluster.Move(slots, 0, 2);
  EXPECT_TRUE(progress.outcome.ok()) << progress.outcome.message();
  EXPECT_EQ(progress.slots, 3000u);
  EXPECT_EQ(progress.moved, 3000u);
  EXPECT_EQ(cluster.SlotsOf(2), slots);
  EXPECT_EQ(LookUpRows(cluster.client(), kUser, ids), before);
  ExpectEveryRowOnItsOwner(&cluster, 3, ids.size());
  EXPECT_EQ(RowsOn(cluster.shard(2).service()).size(), progress.rows);
  // And back.
  EXPECT_TRUE(cluster.Move(slots, 2, 0).outcome.ok());
  EXPECT_EQ(LookUpRows(cluster.client(), kUser, ids), before);
  EXPECT_TRUE(cluster.SlotsOf(2).none());
  ExpectEveryRowOnItsOwner(&cluster, 3, ids.size());
}

TEST(MovesTest, EachUpdateIsAppliedOnceWhileSlotsMove) {
  MovingCluster cluster(3, 2, /*durable=*/false);
  const std::vector<int64_t> ids = FirstIds(2000);
  AssignRows(cluster.client(), kUser, ids, 5.0f);
  const auto before = LookUpRows(cluster.client(), kUser, ids);
  const std::vector<std::string> addresses = {cluster.shard(0).address()};
  uint64_t updates = 0;
  {
    std::vector<std::unique_ptr<Trainer>> trainers;
    for (uint64_t t = 1; t <= 3; ++t) {
      trainers.push_back(std::make_unique<Trainer>(addresses, ids, t));
    }
    for (int turn = 0; turn < 3; ++turn) {
      const SlotSet slots = FirstSlots(cluster.SlotsOf(0), 3000);
      for (const auto& [from, to] :
           std::vector<std::pair<size_t, size_t>>{{0, 2}, {2, 1}, {1, 0}}) {
        const MoveProgress progress = cluster.Move(slots, from, to);
        EXPECT_TRUE(progress.outcome.ok()) << progress.outcome.message();
      }
    }
    for (const auto& trainer : trainers) {
      trainer->Stop();
      updates += trainer->updates();
    }
  }
  EXPECT_GT(updates, 20u);
  ExpectValues(cluster.client(), ids, before, updates);
  ExpectEveryRowOnItsOwner(&cluster, 3, ids.size());
}

// Kills one of two shards at many moments of a move.
TEST(MovesTest, AKilledShardLosesNothing) {
  MovingCluster cluster(3, 2, /*durable=*/true);
  const std::vector<int64_t> ids = FirstIds(2000);
  AssignRows(cluster.client(), kUser, ids, 5.0f);
  const auto before = LookUpRows(cluster.client(), kUser, ids);
  const std::vector<std::string> addresses = {cluster.shard(1).address()};
  Trainer trainer(addresses, ids, 1);
  std::mt19937 random(7);
  for (int kill = 0; kill < 20; ++kill) {
    const bool there = cluster.SlotsOf(2).none();
    const size_t from = there ? 0 : 2;
    const size_t to = there ? 2 : 0;
    const SlotSet slots =
        there ? FirstSlots(cluster.SlotsOf(0), 3000) : cluster.SlotsOf(2);
    ASSERT_TRUE(cluster.StartMove(slots, from, to).ok());
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 60'000));
    MovingShard& killed = cluster.shard(kill % 2 == 0 ? from : to);
    killed.Stop();
    killed.Start();
    for (;;) {
      const MoveProgress progress = cluster.AwaitMove(to);
      if (progress.state == MoveState::kEnded && progress.outcome.ok()) break;
      const Status again = cluster.StartMove(slots, from, to);
      ASSERT_TRUE(again.ok()) << again.message();
    }
    // All know of the last move before the next one begins.
    const SharedTopology newest =
        cluster.shard(to).service()->CurrentTopology();
    for (size_t i = 0; i < 3; ++i) {
      ExchangeWith(cluster.shard(i).service(), newest.get());
    }
  }
  trainer.Stop();
  ExpectValues(cluster.client(), ids, before, trainer.updates());
  ExpectEveryRowOnItsOwner(&cluster, 3, ids.size());
}

}  // namespace
}  // namespace persia
