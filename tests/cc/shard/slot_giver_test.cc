#include "cc/shard/slot_giver.h"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cc/shard/inside_gate.h"
#include "tests/cc/shard/shard_parts.h"

namespace persia {
namespace {

constexpr uint32_t kHalf = kSlots / 2;
constexpr uint64_t kClient = 7;

// A shard that owns the lower half of the slots.
class SlotGiverTest : public ::testing::Test {
 protected:
  SlotGiverTest() {
    EXPECT_TRUE(shard_.Tell(TwoShards()).ok());
    shard_.generation = 3;
  }

  SlotSet Owned() const { return shard_.ownership.owned_slots(); }

  HandOverRequest Held(const SlotSet& slots) {
    HandOverRequest request = Step(HandOverStep::kHold, slots);
    const Status held = shard_.giver->Do(&request);
    EXPECT_TRUE(held.ok()) << held.message();
    return request;
  }

  static HandOverRequest Step(HandOverStep step, const SlotSet& slots) {
    HandOverRequest request;
    request.step = step;
    request.taker = kOther;
    request.slots = slots;
    request.hold_ms = HandOverRequest::kMostHoldMs;
    return request;
  }

  // What follows a hold: the taker sends `request` again, as another step.
  Status Next(HandOverStep step, HandOverRequest* request) {
    request->step = step;
    return shard_.giver->Do(request);
  }

  // Whether a request for this slot would wait.
  bool Waits(uint32_t slot, std::function<void()> resume = [] {}) {
    return shard_.held.Park([slot](const SlotSet& held) { return held[slot]; },
                            std::move(resume));
  }

  ShardParts shard_;
};

TEST_F(SlotGiverTest, AskTellsOfTheOwner) {
  HandOverRequest request = Step(HandOverStep::kAsk, {});
  ASSERT_TRUE(shard_.giver->Do(&request).ok());
  EXPECT_EQ(request.generation, 3u);
  EXPECT_EQ(request.topology, TwoShards().Encode());
  EXPECT_FALSE(shard_.held.any());
}

TEST_F(SlotGiverTest, AShardOfNoClusterHasNoTopologyAndGivesNothing) {
  ShardParts alone(9);
  HandOverRequest request = Step(HandOverStep::kAsk, SlotRange(0, 10));
  request.topology = {1};
  ASSERT_TRUE(alone.giver->Do(&request).ok());
  EXPECT_TRUE(request.topology.empty());
  request.step = HandOverStep::kHold;
  EXPECT_EQ(alone.giver->Do(&request).code(), Code::kFailedPrecondition);
}

TEST_F(SlotGiverTest, HoldLetsRequestsForItsSlotsWait) {
  const HandOverRequest held = Held(SlotRange(0, 10));
  EXPECT_NE(held.hold, 0u);
  EXPECT_EQ(held.generation, 3u);
  EXPECT_TRUE(Waits(9));
  EXPECT_FALSE(Waits(10));
  EXPECT_EQ(Owned(), SlotRange(0, kHalf));
}

TEST_F(SlotGiverTest, HoldTellsWhichUpdatesWereApplied) {
  SlotsApplied taken{SlotRange(5, 20), {}};
  taken.clients.resize(1);
  taken.clients[0].client = kClient + 1;
  taken.clients[0].Set(0);
  shard_.windows.Take(taken);
  const auto begun = shard_.windows.Begin(kClient, 4);
  shard_.windows.Finish(kClient, 4, begun, /*applied=*/true);
  const HandOverRequest held = Held(SlotRange(0, 10));
  SlotSet slots;
  for (const SlotsApplied& each : held.applied) {
    EXPECT_TRUE((slots & each.slots).none());
    slots |= each.slots;
    bool has_update = false;
    for (const ClientWindow& window : each.clients) {
      if (window.client != kClient) continue;
      has_update = window.highest == 4 && window.Has(0);
    }
    EXPECT_TRUE(has_update);
    EXPECT_EQ(each.clients.size(), each.slots == SlotRange(5, 10) ? 2u : 1u);
  }
  EXPECT_EQ(slots, SlotRange(0, 10));
}

// Else the taker would not know of an update that is applied to rows that it
// receives.
TEST_F(SlotGiverTest, HoldTellsOfUpdatesThatAreInProgress) {
  for (uint64_t sequence = 1; sequence <= 10; ++sequence) {
    HandOverRequest request = Step(HandOverStep::kHold, SlotRange(0, 10));
    const auto begun = shard_.windows.Begin(kClient, sequence);
    ExpectNoChangeInside(
        &shard_.gate, [&] { return shard_.giver->Do(&request); },
        [&] { return shard_.held.any(); },
        [&] { shard_.windows.Finish(kClient, sequence, begun, true); });
    EXPECT_TRUE(shard_.held.any());
    ASSERT_EQ(request.applied.size(), 1u);
    ASSERT_EQ(request.applied[0].clients.size(), 1u);
    EXPECT_EQ(request.applied[0].clients[0].highest, sequence);
    EXPECT_TRUE(request.applied[0].clients[0].Has(0));
    EXPECT_TRUE(Next(HandOverStep::kRelease, &request).ok());
  }
}

TEST_F(SlotGiverTest, OnlyOwnSlotsAreHeld) {
  for (const SlotSet& slots :
       {SlotSet(), SlotRange(kHalf - 1, kHalf + 1), SlotRange(kHalf, kSlots)}) {
    HandOverRequest request = Step(HandOverStep::kHold, slots);
    const Status status = shard_.giver->Do(&request);
    EXPECT_EQ(status.code(), Code::kFailedPrecondition) << status.message();
  }
  HandOverRequest request = Step(HandOverStep::kHold, SlotRange(0, 10));
  request.hold_ms = 0;
  EXPECT_EQ(shard_.giver->Do(&request).code(), Code::kInvalidArgument);
  EXPECT_FALSE(shard_.held.any());
}

TEST_F(SlotGiverTest, SlotsThatAreHeldAlreadyAreRefused) {
  HandOverRequest first = Held(SlotRange(0, 10));
  HandOverRequest second = Step(HandOverStep::kHold, SlotRange(9, 12));
  EXPECT_EQ(shard_.giver->Do(&second).code(), Code::kFailedPrecondition);
  ASSERT_TRUE(Next(HandOverStep::kRelease, &first).ok());
  EXPECT_TRUE(shard_.giver->Do(&second).ok());
}

TEST_F(SlotGiverTest, CommitGivesTheSlotsAway) {
  HandOverRequest request = Held(SlotRange(0, 10));
  const Status committed = Next(HandOverStep::kCommit, &request);
  ASSERT_TRUE(committed.ok()) << committed.message();
  EXPECT_EQ(Owned(), SlotRange(10, kHalf));
  const auto told = Topology::Decode(request.topology);
  ASSERT_TRUE(told.ok());
  EXPECT_EQ(told->SlotsOf(kOther), SlotRange(0, 10) | SlotRange(kHalf, kSlots));
}

// Else requests would be sent to a taker that does not know yet that it owns
// the slots.
TEST_F(SlotGiverTest, RequestsGoOnOnceTheTakerKnowsThatItOwnsTheSlots) {
  HandOverRequest request = Held(SlotRange(0, 10));
  std::optional<SlotSet> owned_then;
  ASSERT_TRUE(Waits(3, [&] { owned_then = Owned(); }));
  ASSERT_TRUE(Next(HandOverStep::kCommit, &request).ok());
  EXPECT_FALSE(owned_then.has_value());
  EXPECT_TRUE(Waits(4));
  ASSERT_TRUE(Next(HandOverStep::kRelease, &request).ok());
  EXPECT_EQ(owned_then, SlotRange(10, kHalf));
  EXPECT_FALSE(shard_.held.any());
}

TEST_F(SlotGiverTest, RequestsGoOnIfTheTakerSaysNothingAfterACommit) {
  HandOverRequest request = Held(SlotRange(0, 10));
  std::promise<void> went_on;
  ASSERT_TRUE(Waits(3, [&] { went_on.set_value(); }));
  ASSERT_TRUE(Next(HandOverStep::kCommit, &request).ok());
  EXPECT_EQ(went_on.get_future().wait_for(std::chrono::minutes(1)),
            std::future_status::ready);
}

// The reply to the first one was lost.
TEST_F(SlotGiverTest, ACommitMayBeRepeated) {
  HandOverRequest request = Held(SlotRange(0, 10));
  ASSERT_TRUE(Next(HandOverStep::kCommit, &request).ok());
  const std::vector<uint8_t> told = request.topology;
  request.topology.clear();
  const Status again = Next(HandOverStep::kCommit, &request);
  EXPECT_TRUE(again.ok()) << again.message();
  EXPECT_EQ(request.topology, told);
  EXPECT_EQ(Owned(), SlotRange(10, kHalf));
}

TEST_F(SlotGiverTest, ACommitOfMoreThanWasGivenIsNoRepetition) {
  HandOverRequest request = Held(SlotRange(0, 10));
  ASSERT_TRUE(Next(HandOverStep::kCommit, &request).ok());
  for (const SlotSet& slots : {SlotRange(0, 11), SlotRange(10, 11)}) {
    request.slots = slots;
    EXPECT_EQ(Next(HandOverStep::kCommit, &request).code(),
              Code::kFailedPrecondition);
  }
  EXPECT_EQ(Owned(), SlotRange(10, kHalf));
}

// The hold has ended, as when it took too long: the owner has gone on.
TEST_F(SlotGiverTest, ACommitWithoutItsHoldChangesNothing) {
  HandOverRequest request = Held(SlotRange(0, 10));
  ASSERT_TRUE(Next(HandOverStep::kRelease, &request).ok());
  Status status = Next(HandOverStep::kCommit, &request);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.message().find("no longer held"), std::string::npos);
  // Nor does the hold of another time count, or of other slots.
  HandOverRequest later = Held(SlotRange(0, 10));
  EXPECT_EQ(Next(HandOverStep::kCommit, &request).code(),
            Code::kFailedPrecondition);
  later.slots = SlotRange(0, 5);
  EXPECT_EQ(Next(HandOverStep::kCommit, &later).code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(Owned(), SlotRange(0, kHalf));
  EXPECT_TRUE(Waits(3));
}

TEST_F(SlotGiverTest, AHoldExpires) {
  HandOverRequest request = Step(HandOverStep::kHold, SlotRange(0, 10));
  request.hold_ms = 1;
  ASSERT_TRUE(shard_.giver->Do(&request).ok());
  const Deadline give_up = DeadlineAfter(60);
  while (shard_.held.any() && Clock::now() < give_up) {
    std::this_thread::yield();
  }
  ASSERT_FALSE(shard_.held.any());
  EXPECT_EQ(Next(HandOverStep::kCommit, &request).code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(Owned(), SlotRange(0, kHalf));
  EXPECT_FALSE(Waits(3));
}

TEST_F(SlotGiverTest, SlotsThatNobodyCanTakeStay) {
  HandOverRequest request = Held(SlotRange(0, 10));
  bool went_on = false;
  ASSERT_TRUE(Waits(3, [&] { went_on = true; }));
  request.taker = 99;
  EXPECT_EQ(Next(HandOverStep::kCommit, &request).code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(Owned(), SlotRange(0, kHalf));
  EXPECT_TRUE(went_on);
  request.slots.reset();
  EXPECT_EQ(Next(HandOverStep::kCommit, &request).code(),
            Code::kInvalidArgument);
}

TEST_F(SlotGiverTest, ReleaseEndsAHoldAndMayBeRepeated) {
  HandOverRequest request = Held(SlotRange(0, 10));
  bool went_on = false;
  ASSERT_TRUE(Waits(3, [&] { went_on = true; }));
  ASSERT_TRUE(Next(HandOverStep::kRelease, &request).ok());
  EXPECT_TRUE(went_on);
  EXPECT_FALSE(shard_.held.any());
  const HandOverRequest other = Held(SlotRange(0, 10));
  ASSERT_TRUE(Next(HandOverStep::kRelease, &request).ok());
  EXPECT_TRUE(shard_.held.any());
  EXPECT_EQ(Owned(), SlotRange(0, kHalf));
}

}  // namespace
}  // namespace persia
