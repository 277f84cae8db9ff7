#include "cc/shard/membership.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cc/files/temporary_folder.h"
#include "tests/cc/log/memory_files.h"
#include "tests/cc/shard/inside_gate.h"
#include "tests/cc/shard/shard_parts.h"
#include "tests/cc/support/call_result.h"

namespace persia {
namespace {

constexpr uint32_t kHalf = kSlots / 2;
constexpr uint64_t kClient = 7;

SlotsApplied Applied(const SlotSet& slots, uint64_t sequence) {
  ClientWindow window;
  window.client = kClient;
  window.highest = sequence;
  window.Set(0);
  return {slots, {window}};
}

// A shard without a log, of a cluster of two, with a table "t".
class MembershipTest : public ::testing::Test {
 protected:
  MembershipTest() {
    shard_.MakeTable("t");
    shard_.Train("t", ids_);
  }

  void Join() { ASSERT_TRUE(shard_.Tell(TwoShards()).ok()); }

  Membership& membership() { return *shard_.membership; }
  SlotSet Owned() const { return shard_.ownership.owned_slots(); }
  // The ids that have rows.
  Ids Held() { return ExportedIds(*shard_.Find("t")); }

  const Ids ids_ = Range(0, 1000);
  ShardParts shard_;
};

TEST_F(MembershipTest, TellsWhoItIsAndWhatItKnows) {
  TopologyRequest request;
  request.topology = {1};
  uint64_t log_end = 0;
  ASSERT_TRUE(membership().Exchange(&request, &log_end).ok());
  EXPECT_EQ(request.member, kOwn);
  EXPECT_TRUE(request.topology.empty());
  Join();
  ASSERT_TRUE(membership().Exchange(&request, &log_end).ok());
  EXPECT_EQ(request.topology, TwoShards().Encode());
  EXPECT_EQ(log_end, 0u);
}

TEST_F(MembershipTest, ATopologyThatIsLearntCountsForAllParts) {
  Join();
  EXPECT_EQ(Owned(), SlotRange(0, kHalf));
  EXPECT_EQ(shard_.store.share(), kHalf);
  const auto grown = TwoShards().WithOwner(SlotRange(kHalf, kSlots), kOwn);
  ASSERT_TRUE(shard_.Tell(grown).ok());
  EXPECT_TRUE(Owned().all());
  EXPECT_EQ(shard_.store.share(), kSlots);
  // What is older changes nothing.
  ASSERT_TRUE(shard_.Tell(TwoShards()).ok());
  EXPECT_TRUE(Owned().all());
  ASSERT_TRUE(shard_.Tell(grown.WithOwner(SlotRange(0, 1000), kOther)).ok());
  EXPECT_EQ(Owned(), SlotRange(1000, kSlots));
  EXPECT_EQ(shard_.store.share(), kSlots - 1000);
}

TEST_F(MembershipTest, AnotherClusterOrWhatIsNoneIsRefused) {
  Join();
  const Topology other = *Topology::Found(2, {{kOwn, 0, 1, false, "a:1"}});
  EXPECT_EQ(shard_.Tell(other).code(), Code::kFailedPrecondition);
  TopologyRequest request;
  request.told = {1, 2, 3};
  uint64_t log_end = 0;
  EXPECT_EQ(membership().Exchange(&request, &log_end).code(), Code::kDataLoss);
  EXPECT_EQ(Owned(), SlotRange(0, kHalf));
}

TEST_F(MembershipTest, SlotsThatWereLostAreForgotten) {
  ASSERT_TRUE(shard_.Tell(TwoShards()).ok());
  shard_.windows.Take(Applied(SlotRange(0, 10), 1));
  const auto lost = TwoShards().WithOwner(SlotRange(5, 20), kOther);
  ASSERT_TRUE(shard_.Tell(lost).ok());
  const auto taken = shard_.windows.ExportTaken();
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].slots, SlotRange(0, 5));
}

TEST_F(MembershipTest, GiveAwayMakesAnotherMemberTheOwner) {
  Join();
  ASSERT_TRUE(membership().GiveAway(SlotRange(0, 100), kOther).ok());
  EXPECT_EQ(Owned(), SlotRange(100, kHalf));
  const SharedTopology topology = shard_.ownership.topology();
  EXPECT_EQ(topology->SlotsOf(kOther),
            SlotRange(0, 100) | SlotRange(kHalf, kSlots));
  EXPECT_EQ(topology->EpochOfSlot(0), 2u);
  EXPECT_EQ(topology->EpochOfSlot(100), 1u);
  EXPECT_EQ(Held(), ids_);  // Until Sweep.
}

// Else rows that stay would be evicted instead of those that go.
TEST_F(MembershipTest, SlotsThatWereGivenAwayCountForTheShareUntilSweep) {
  TableConfig config = MakeConfig("full", 2);
  config.eviction = SpecOf("lru");
  config.capacity = SpecOf("rows(count=2000)");
  shard_.MakeTable(config, 2);
  Join();
  // Not many fewer than the share of the capacity, which is 1000 rows.
  const Ids own = InSlots(SlotRange(0, kHalf), Range(0, 1800));
  shard_.Train("full", own);
  const Ids kept = InSlots(SlotRange(4000, kHalf), own);
  for (uint32_t slot = 0; slot < 4000; slot += 1000) {
    ASSERT_TRUE(
        membership().GiveAway(SlotRange(slot, slot + 1000), kOther).ok());
    EXPECT_EQ(shard_.store.share(), kHalf);
    shard_.Train("full", {kept.front()});
  }
  EXPECT_EQ(shard_.Find("full")->Stats().evictions, 0u);
  membership().Sweep();
  EXPECT_EQ(shard_.store.share(), kHalf - 4000);
  shard_.Train("full", {kept.front()});
  EXPECT_EQ(InSlots(SlotRange(4000, kHalf), ExportedIds(*shard_.Find("full"))),
            kept);
}

TEST_F(MembershipTest, OnlyOwnSlotsAreGivenAwayAndOnlyToMembers) {
  const auto refusal = [&](const SlotSet& slots, uint64_t taker) {
    const Status status = membership().GiveAway(slots, taker);
    EXPECT_EQ(status.code(), Code::kFailedPrecondition);
    return status.message();
  };
  refusal(SlotRange(0, 10), kOther);  // It belongs to no cluster.
  Join();
  EXPECT_EQ(refusal(SlotRange(kHalf - 1, kHalf + 2), kOther),
            "this shard does not own the slots 8192-8193");
  EXPECT_NE(refusal(SlotRange(0, 10), 99).find("is no member"),
            std::string::npos);
  const Member left{kOther, 1, 2, true, "b:1"};
  ASSERT_TRUE(shard_.Tell(TwoShards().WithMember(left)).ok());
  EXPECT_NE(refusal(SlotRange(0, 10), kOther).find("is no member"),
            std::string::npos);
  EXPECT_EQ(Owned(), SlotRange(0, kHalf));
}

TEST_F(MembershipTest, SweepRemovesTheRowsOfSlotsThatWereGivenAway) {
  Join();
  const SlotSet given = SlotRange(0, 3000);
  ASSERT_TRUE(membership().GiveAway(given, kOther).ok());
  membership().Sweep();
  EXPECT_EQ(InSlots(given, Held()), Ids());
  EXPECT_EQ(InSlots(SlotRange(3000, kHalf), Held()),
            InSlots(SlotRange(3000, kHalf), ids_));
}

// Between GiveAway and Sweep slots may come back.
TEST_F(MembershipTest, SweepLeavesWhatCameBack) {
  Join();
  const SlotSet given = SlotRange(0, 3000), back = SlotRange(0, 1000);
  ASSERT_TRUE(membership().GiveAway(given, kOther).ok());
  const Topology after = shard_.ownership.topology()->WithOwner(back, kOwn);
  ASSERT_TRUE(membership().BeginTaking(back, 0).ok());
  EXPECT_EQ(InSlots(back, Held()), Ids());
  shard_.Train("t", InSlots(back, ids_));  // As rows that arrive.
  membership().Sweep();
  EXPECT_EQ(InSlots(given, Held()), InSlots(back, ids_));
  ASSERT_TRUE(membership().Prepare(Applied(back, 1)).ok());
  ASSERT_TRUE(shard_.Tell(after).ok());
  membership().Sweep();
  EXPECT_EQ(InSlots(given, Held()), InSlots(back, ids_));
}

// As when another program names the owner of slots whose shard was lost.
TEST_F(MembershipTest, SweepLeavesOwnSlotsHoweverTheyCameBack) {
  Join();
  const Ids before = InSlots(SlotRange(0, kHalf), Held());
  ASSERT_TRUE(membership().GiveAway(SlotRange(0, 3000), kOther).ok());
  ASSERT_TRUE(shard_
                  .Tell(shard_.ownership.topology()->WithOwner(
                      SlotRange(0, 3000), kOwn))
                  .ok());
  membership().Sweep();
  EXPECT_EQ(InSlots(SlotRange(0, kHalf), Held()), before);
}

TEST_F(MembershipTest, BeginTakingStartsFromNothing) {
  Join();
  const SlotSet slots = SlotRange(kHalf, kHalf + 3000);
  ASSERT_TRUE(membership().BeginTaking(slots, 0).ok());
  EXPECT_EQ(shard_.prepared.arriving(), slots);
  EXPECT_EQ(Held(), InSlots(~slots, ids_));
  EXPECT_EQ(Owned(), SlotRange(0, kHalf));
}

TEST_F(MembershipTest, WhoBelongsToNoClusterTakesNothing) {
  const Status status = membership().BeginTaking(SlotRange(0, 10), 0);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_EQ(status.message(), "this shard belongs to no cluster");
  EXPECT_EQ(Held(), ids_);
}

TEST_F(MembershipTest, OwnSlotsAreNotTaken) {
  Join();
  const Status status =
      membership().BeginTaking(SlotRange(kHalf - 2, kHalf + 2), 0);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_EQ(status.message(), "this shard owns the slots 8190-8191 already");
  EXPECT_EQ(Held(), ids_);
  EXPECT_TRUE(shard_.prepared.arriving().none());
}

TEST_F(MembershipTest, AllSlotsAreOfOneGeneration) {
  Join();
  shard_.generation = 3;
  const SlotSet slots = SlotRange(kHalf, kSlots);
  const Status status = membership().BeginTaking(slots, 4);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.message().find("have generation 3, and those of the slots' "
                                  "owner 4"),
            std::string::npos)
      << status.message();
  EXPECT_EQ(shard_.generation, 3u);
  EXPECT_TRUE(membership().BeginTaking(slots, 3).ok());
  // One that owns nothing takes on the generation of its first slots.
  ASSERT_TRUE(membership().GiveAway(SlotRange(0, kHalf), kOther).ok());
  EXPECT_TRUE(membership().BeginTaking(SlotRange(0, kHalf), 4).ok());
  EXPECT_EQ(shard_.generation, 4u);
}

TEST_F(MembershipTest, PreparedSlotsArriveWithTheTopology) {
  Join();
  const SlotSet taken = SlotRange(kHalf, kHalf + 100);
  ASSERT_TRUE(shard_.Update("t", ids_, kClient, 1));
  ASSERT_TRUE(membership().BeginTaking(taken, 0).ok());
  ASSERT_TRUE(membership().Prepare(Applied(taken, 2)).ok());
  EXPECT_TRUE(shard_.windows.ExportTaken().empty());
  ASSERT_TRUE(shard_.Tell(TwoShards().WithOwner(taken, kOwn)).ok());
  EXPECT_TRUE(shard_.prepared.arriving().none());
  const auto windows = shard_.windows.ExportTaken();
  ASSERT_EQ(windows.size(), 1u);
  EXPECT_EQ(windows[0].slots, taken);
  EXPECT_EQ(windows[0].clients, Applied(taken, 2).clients);
  // So an update that the former owner applied is applied to the others alone.
  const auto begun = shard_.windows.Begin(kClient, 2);
  ASSERT_EQ(begun.verdict, UpdateWindow::Verdict::kApply);
  ASSERT_NE(begun.only, nullptr);
  EXPECT_EQ(*begun.only, ~taken);
}

TEST_F(MembershipTest, StopTakingRemovesWhatHasArrived) {
  Join();
  const SlotSet slots = SlotRange(kHalf, kHalf + 3000);
  ASSERT_TRUE(membership().BeginTaking(slots, 0).ok());
  shard_.Train("t", InSlots(slots, ids_));
  ASSERT_TRUE(
      membership().Prepare(Applied(SlotRange(kHalf, kHalf + 9), 2)).ok());
  ASSERT_TRUE(membership().StopTaking(slots).ok());
  EXPECT_TRUE(shard_.prepared.arriving().none());
  EXPECT_TRUE(shard_.prepared.prepared().empty());
  EXPECT_EQ(Held(), InSlots(~slots, ids_));
}

// Some of the slots have become the shard's before the move was given up.
TEST_F(MembershipTest, StopTakingLeavesOwnSlots) {
  Join();
  const SlotSet slots = SlotRange(kHalf, kHalf + 3000),
                arrived = SlotRange(kHalf, kHalf + 1000);
  ASSERT_TRUE(membership().BeginTaking(slots, 0).ok());
  shard_.Train("t", InSlots(slots, ids_));
  ASSERT_TRUE(membership().Prepare(Applied(arrived, 2)).ok());
  ASSERT_TRUE(shard_.Tell(TwoShards().WithOwner(arrived, kOwn)).ok());
  ASSERT_TRUE(membership().StopTaking(slots).ok());
  EXPECT_EQ(InSlots(slots, Held()), InSlots(arrived, ids_));
  ASSERT_EQ(shard_.windows.ExportTaken().size(), 1u);
  ASSERT_TRUE(membership().StopTaking(arrived).ok());
  EXPECT_EQ(InSlots(slots, Held()), InSlots(arrived, ids_));
}

// Else requests under way would change rows that are no longer the shard's.
TEST_F(MembershipTest, SlotsChangeOwnerWhileNobodyIsInsideTheGate) {
  Join();
  for (uint32_t slot = 0; slot < 20; ++slot) {
    ExpectNoChangeInside(
        &shard_.gate,
        [&] {
          return membership().GiveAway(SlotRange(slot, slot + 1), kOther);
        },
        [&] { return Owned().count(); });
    EXPECT_EQ(Owned(), SlotRange(slot + 1, kHalf));
  }
}

TEST_F(MembershipTest, ATopologyThatLeavesTheSlotsNeedsNoGate) {
  Join();
  const Gate::Pass pass(&shard_.gate);
  const Topology grown = TwoShards().WithMember({8, 2, 1, false, "c:1"});
  ASSERT_TRUE(shard_.Tell(grown).ok());
  EXPECT_EQ(shard_.ownership.topology()->fingerprint(), grown.fingerprint());
}

// A shard whose log is on a device that syncs when a test says so.
class LoggedMembershipTest : public ::testing::Test {
 protected:
  LoggedMembershipTest() {
    options_.folder = folder_.path();
    options_.files = &files_;
    shard_ = std::make_unique<ShardParts>(kOwn, options_);
    EXPECT_TRUE(shard_->Tell(TwoShards()).ok());
    EXPECT_TRUE(SyncAll().ok());
  }
  ~LoggedMembershipTest() override { files_.ReleaseSyncs(); }

  Membership& membership() { return *shard_->membership; }
  SlotSet Owned() const { return shard_->ownership.owned_slots(); }

  Status SyncAll() {
    Journal& journal = *shard_->journal;
    return journal.BlockUntilDurable(journal.position());
  }

  // What the shard tells others.
  Topology Told() {
    TopologyRequest request;
    uint64_t log_end = 0;
    EXPECT_TRUE(membership().Exchange(&request, &log_end).ok());
    return *Topology::Decode(request.topology);
  }

  // Starts the shard again as after a loss of power, now or when its files were
  // these.
  void LosePower() { LosePower(files_.image()); }
  void LosePower(MemoryImage image) {
    for (auto& [path, file] : image) file.bytes.resize(file.synced);
    shard_ = nullptr;
    left_ = std::make_unique<MemoryFiles>(image);
    options_.files = left_.get();
    shard_ = std::make_unique<ShardParts>(kOwn + 100, options_);
    EXPECT_EQ(shard_->ownership.member(), kOwn);
  }

  const TemporaryFolder folder_;
  MemoryFiles files_;
  std::unique_ptr<MemoryFiles> left_;
  JournalOptions options_;
  std::unique_ptr<ShardParts> shard_;
};

// Else the log might have an update after the topology that came before it, and
// was for slots that the shard has lost by it.
TEST_F(LoggedMembershipTest, ATopologyIsLoggedWhileTheGateIsClosed) {
  Topology topology = TwoShards();
  for (uint32_t slot = 0; slot < 20; ++slot) {
    topology = topology.WithOwner(SlotRange(slot, slot + 1), kOther);
    const uint64_t before = shard_->journal->position();
    ExpectNoChangeInside(
        &shard_->gate, [&] { return shard_->Tell(topology); },
        [&] { return shard_->journal->position(); });
    EXPECT_EQ(shard_->journal->position(), before + 1);
    EXPECT_EQ(Owned(), SlotRange(slot + 1, kHalf));
  }
}

TEST_F(LoggedMembershipTest, WhatIsToldIsDurableOnceTheLogIs) {
  const Topology grown = TwoShards().WithOwner(SlotRange(kHalf, kSlots), kOwn);
  TopologyRequest request;
  request.told = grown.Encode();
  uint64_t log_end = 0;
  ASSERT_TRUE(membership().Exchange(&request, &log_end).ok());
  EXPECT_EQ(log_end, shard_->journal->position());
  ASSERT_TRUE(shard_->journal->BlockUntilDurable(log_end).ok());
  // What is not news is not logged.
  log_end = 0;
  ASSERT_TRUE(membership().Exchange(&request, &log_end).ok());
  EXPECT_EQ(log_end, 0u);
  LosePower();
  EXPECT_TRUE(Owned().all());
}

TEST_F(LoggedMembershipTest, SlotsAreGivenAwayDurablyBeforeAnybodyIsTold) {
  files_.HoldSyncs();
  auto given = std::async(std::launch::async, [&] {
    return membership().GiveAway(SlotRange(0, 100), kOther);
  });
  files_.WaitForHeldSync();
  EXPECT_EQ(Owned(), SlotRange(0, kHalf));
  EXPECT_EQ(Told().fingerprint(), TwoShards().fingerprint());
  // Nor does it become visible with what the shard learns meanwhile.
  ASSERT_TRUE(
      shard_->Tell(TwoShards().WithMember({8, 2, 1, false, "c:1"})).ok());
  EXPECT_EQ(Owned(), SlotRange(0, kHalf));
  EXPECT_EQ(Told().SlotsOf(kOwn), SlotRange(0, kHalf));
  files_.ReleaseSyncs();
  ASSERT_TRUE(given.get().ok());
  EXPECT_EQ(Owned(), SlotRange(100, kHalf));
  EXPECT_EQ(Told().SlotsOf(kOwn), SlotRange(100, kHalf));
  EXPECT_TRUE(Told().PlaceOf(8));
  ASSERT_TRUE(SyncAll().ok());
  LosePower();
  EXPECT_EQ(Owned(), SlotRange(100, kHalf));
  EXPECT_TRUE(Told().PlaceOf(8));
}

// The power is lost before anybody was told that the slots are the other
// shard's.
TEST_F(LoggedMembershipTest, SlotsWhoseLossIsNotDurableAreKept) {
  files_.HoldSyncs();
  auto given = std::async(std::launch::async, [&] {
    return membership().GiveAway(SlotRange(0, 100), kOther);
  });
  files_.WaitForHeldSync();
  const MemoryImage image = files_.image();
  files_.ReleaseSyncs();
  ASSERT_TRUE(given.get().ok());
  LosePower(image);
  EXPECT_EQ(Owned(), SlotRange(0, kHalf));
}

TEST_F(LoggedMembershipTest, SlotsStayWhoseLossCannotBeLogged) {
  files_.FailSyncs();
  EXPECT_FALSE(membership().GiveAway(SlotRange(0, 100), kOther).ok());
  EXPECT_EQ(Owned(), SlotRange(0, kHalf));
  EXPECT_EQ(Told().fingerprint(), TwoShards().fingerprint());
}

TEST_F(LoggedMembershipTest, SlotsArePreparedDurably) {
  const SlotSet slots = SlotRange(kHalf, kHalf + 100);
  ASSERT_TRUE(membership().BeginTaking(slots, 0).ok());
  ASSERT_TRUE(membership().Prepare(Applied(slots, 2)).ok());
  LosePower();
  ASSERT_EQ(shard_->prepared.prepared().size(), 1u);
  EXPECT_EQ(shard_->prepared.prepared()[0].slots, slots);
  EXPECT_EQ(shard_->prepared.prepared()[0].clients, Applied(slots, 2).clients);
}

}  // namespace
}  // namespace persia
