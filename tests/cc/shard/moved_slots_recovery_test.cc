// Two shards, of which one takes slots over from the other. Whichever of them
// is killed, and whenever, it comes back as it was: what each step has made
// durable is there, and nothing more. With and without a base of the log.

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/saving/base_keeper.h"
#include "tests/cc/files/temporary_folder.h"
#include "tests/cc/shard/copied_rows.h"
#include "tests/cc/shard/shard_parts.h"

namespace persia {
namespace {

constexpr uint32_t kHalf = kSlots / 2;
constexpr uint64_t kClient = 7;
constexpr uint64_t kGeneration = 3;

using Rows = std::map<int64_t, TableRow>;

// Writes a base of a shard's log. `amid` is called once its rows are chosen.
void WriteBase(ShardParts* shard, const std::function<void()>& amid = [] {}) {
  const auto own = [shard] {
    OwnShard own;
    own.member = shard->ownership.member();
    own.slots = shard->ownership.slots();
    own.unswept = shard->membership->given_away();
    return own;
  };
  BaseKeeper keeper({&shard->store, &shard->windows, &shard->gate,
                     [] { return uint64_t{0}; }, &shard->generation,
                     shard->journal.get(), nullptr, own,
                     [shard, amid](const SlotSet& unswept) {
                       amid();
                       return shard->membership->LogAll(unswept);
                     }});
  shard->journal->DemandBase("none");
  keeper.LookAtOnce();
  while (shard->journal->wants_base() && keeper.failure().ok()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_TRUE(keeper.failure().ok()) << keeper.failure().message();
}

class MovedSlotsRecovery : public ::testing::TestWithParam<bool> {
 protected:
  MovedSlotsRecovery() {
    owner_ = Open(kOwn);
    taker_ = Open(kOther);
    // The taker has no slots yet, and rows that nobody needs.
    const Topology before =
        TwoShards().WithOwner(SlotRange(kHalf, kSlots), kOwn);
    for (ShardParts* shard : {owner_.get(), taker_.get()}) {
      EXPECT_TRUE(shard->Tell(before).ok());
    }
    owner_->generation = kGeneration;
    owner_->MakeTable("t");
    owner_->Train("t", ids_);
    for (uint64_t sequence : {1, 2})
      owner_->Update("t", ids_, kClient, sequence);
    taker_->MakeTable("t");
  }

  std::unique_ptr<ShardParts> Open(uint64_t member) {
    JournalOptions options;
    options.folder = folder_ / std::to_string(member);
    options.sync = SyncMode::kSystem;
    return std::make_unique<ShardParts>(member, options);
  }

  // Kills a shard and starts it again.
  void Restart(std::unique_ptr<ShardParts>* shard) {
    const uint64_t member = (*shard)->ownership.member();
    if (GetParam()) WriteBase(shard->get());
    *shard = nullptr;
    *shard = Open(member);
    EXPECT_EQ((*shard)->ownership.member(), member);
  }
  void RestartOwner() { Restart(&owner_); }
  void RestartTaker() { Restart(&taker_); }

  // The steps of a move, one after the other.
  void Begin() {
    const Status begun = taker_->membership->BeginTaking(moved_, kGeneration);
    ASSERT_TRUE(begun.ok()) << begun.message();
    copied_ = std::make_unique<CopiedRows>(owner_.get(), moved_);
    Copy();
  }

  void Copy() {
    ChangesRequest changes = copied_->Take();
    const auto placed = taker_->placer->Place(&changes, moved_);
    ASSERT_TRUE(placed.ok()) << placed.status().message();
    ASSERT_TRUE(*placed);
  }

  // The last changes come while the slots are held.
  void Prepare() {
    owner_->Update("t", ids_, kClient, 3);
    hand_over_.step = HandOverStep::kHold;
    hand_over_.taker = kOther;
    hand_over_.slots = moved_;
    hand_over_.hold_ms = HandOverRequest::kMostHoldMs;
    const Status held = owner_->giver->Do(&hand_over_);
    ASSERT_TRUE(held.ok()) << held.message();
    Copy();
    for (const SlotsApplied& each : hand_over_.applied) {
      ASSERT_TRUE(taker_->membership->Prepare(each).ok());
    }
    at_hold_ = InSlots(moved_, owner_->RowsOf("t"));
    copied_ = nullptr;
  }

  Status Commit() {
    hand_over_.step = HandOverStep::kCommit;
    return owner_->giver->Do(&hand_over_);
  }

  void Learn() {
    ASSERT_TRUE(taker_->Tell(*owner_->ownership.topology()).ok());
    ASSERT_EQ(taker_->ownership.owned_slots(), moved_);
  }

  // Expects that the taker has the slots as they were when they were held: an
  // update that was applied before is not applied again, and a new one is.
  void ExpectTakerServes() {
    EXPECT_EQ(taker_->ownership.owned_slots(), moved_);
    EXPECT_EQ(taker_->RowsOf("t"), at_hold_);
    const Ids ids = InSlots(moved_, ids_);
    for (uint64_t sequence : {1, 2, 3}) {
      taker_->Update("t", ids, kClient, sequence);
    }
    EXPECT_EQ(taker_->RowsOf("t"), at_hold_);
    EXPECT_TRUE(taker_->Update("t", ids, kClient, 4));
    const Rows after = taker_->RowsOf("t");
    EXPECT_NE(after, at_hold_);
    EXPECT_FALSE(taker_->Update("t", ids, kClient, 4));
    RestartTaker();
    EXPECT_EQ(taker_->RowsOf("t"), after);
    EXPECT_FALSE(taker_->Update("t", ids, kClient, 4));
    EXPECT_EQ(taker_->RowsOf("t"), after);
  }

  void ExpectOwnerServes(const SlotSet& slots, const Rows& rows) {
    EXPECT_EQ(owner_->ownership.owned_slots(), slots);
    EXPECT_EQ(owner_->RowsOf("t"), rows);
    EXPECT_FALSE(owner_->Update("t", InSlots(slots, ids_), kClient, 2));
    EXPECT_EQ(owner_->RowsOf("t"), rows);
  }

  const TemporaryFolder folder_;
  const Ids ids_ = Range(0, 500);
  const SlotSet moved_ = SlotRange(0, 5000);
  std::unique_ptr<ShardParts> owner_, taker_;
  std::unique_ptr<CopiedRows> copied_;
  HandOverRequest hand_over_;
  Rows at_hold_;  // The rows of the slots that move.
};

TEST_P(MovedSlotsRecovery, ATakerThatBegan) {
  // Rows that are there of old are removed.
  taker_->Train("t", ids_);
  ASSERT_TRUE(taker_->membership->BeginTaking(moved_, kGeneration).ok());
  RestartTaker();
  EXPECT_EQ(taker_->prepared.arriving(), moved_);
  EXPECT_TRUE(taker_->prepared.prepared().empty());
  EXPECT_TRUE(taker_->ownership.owned_slots().none());
  EXPECT_EQ(taker_->generation, kGeneration);
  EXPECT_EQ(ExportedIds(*taker_->Find("t")), InSlots(~moved_, ids_));
  // It begins again, and ends.
  Begin();
  Prepare();
  ASSERT_TRUE(Commit().ok());
  Learn();
  EXPECT_EQ(InSlots(moved_, taker_->RowsOf("t")), at_hold_);
}

TEST_P(MovedSlotsRecovery, ATakerThatHasCopied) {
  Begin();
  owner_->Find("t")->Remove(Range(0, 100));
  Copy();
  const Rows copied = taker_->RowsOf("t");
  EXPECT_EQ(copied, InSlots(moved_, owner_->RowsOf("t")));
  EXPECT_EQ(copied.count(InSlots(moved_, Range(0, 100)).at(0)), 0u);
  RestartTaker();
  EXPECT_EQ(taker_->RowsOf("t"), copied);
  EXPECT_EQ(taker_->prepared.arriving(), moved_);
  EXPECT_TRUE(taker_->prepared.prepared().empty());
}

TEST_P(MovedSlotsRecovery, ATakerThatIsPrepared) {
  Begin();
  Prepare();
  RestartTaker();
  EXPECT_EQ(taker_->prepared.arriving(), moved_);
  ASSERT_EQ(taker_->prepared.prepared().size(), 1u);
  EXPECT_EQ(taker_->prepared.prepared()[0].slots, moved_);
  EXPECT_TRUE(taker_->ownership.owned_slots().none());
  EXPECT_TRUE(taker_->windows.ExportTaken().empty());
  // The owner decides only now.
  ASSERT_TRUE(Commit().ok());
  Learn();
  ExpectTakerServes();
}

// The hold ended with the owner, which goes on with the slots.
TEST_P(MovedSlotsRecovery, AnOwnerThatWasKilledWhileItHeldSlots) {
  Begin();
  Prepare();
  const Rows rows = owner_->RowsOf("t");
  RestartOwner();
  EXPECT_FALSE(owner_->held.any());
  ExpectOwnerServes(SlotSet().set(), rows);
  EXPECT_EQ(Commit().code(), Code::kFailedPrecondition);
  ExpectOwnerServes(SlotSet().set(), rows);
  // What was prepared counts no more once the taker begins again.
  Begin();
  RestartTaker();
  EXPECT_TRUE(taker_->prepared.prepared().empty());
}

TEST_P(MovedSlotsRecovery, AnOwnerThatGaveSlotsAway) {
  Begin();
  Prepare();
  const Rows rows = InSlots(~moved_, owner_->RowsOf("t"));
  ASSERT_TRUE(Commit().ok());
  // Its rows are still there.
  EXPECT_EQ(InSlots(moved_, owner_->RowsOf("t")), at_hold_);
  RestartOwner();
  ExpectOwnerServes(~moved_, rows);
  // The reply was lost: the taker asks again, and learns that it is the owner.
  const Status again = Commit();
  EXPECT_TRUE(again.ok()) << again.message();
  Learn();
  ExpectTakerServes();
}

TEST_P(MovedSlotsRecovery, AnOwnerThatGaveSlotsAwayAndSwept) {
  Begin();
  Prepare();
  const Rows rows = InSlots(~moved_, owner_->RowsOf("t"));
  ASSERT_TRUE(Commit().ok());
  owner_->membership->Sweep();
  EXPECT_EQ(owner_->RowsOf("t"), rows);
  RestartOwner();
  ExpectOwnerServes(~moved_, rows);
}

TEST_P(MovedSlotsRecovery, ABaseThatHasRowsWhichASweepRemovesMeanwhile) {
  Begin();
  Prepare();
  const Rows rows = InSlots(~moved_, owner_->RowsOf("t"));
  ASSERT_TRUE(Commit().ok());
  WriteBase(owner_.get(), [&] { owner_->membership->Sweep(); });
  EXPECT_EQ(owner_->RowsOf("t"), rows);
  RestartOwner();
  EXPECT_EQ(owner_->RowsOf("t"), rows);
  ExpectOwnerServes(~moved_, rows);
}

// The taker is killed between the owner's decision and the reply.
TEST_P(MovedSlotsRecovery, ATakerThatDoesNotKnowThatItIsTheOwner) {
  Begin();
  Prepare();
  ASSERT_TRUE(Commit().ok());
  RestartTaker();
  EXPECT_TRUE(taker_->ownership.owned_slots().none());
  EXPECT_EQ(InSlots(moved_, taker_->RowsOf("t")), at_hold_);
  Learn();
  ExpectTakerServes();
}

TEST_P(MovedSlotsRecovery, ATakerThatHasLearntThatItIsTheOwner) {
  Begin();
  Prepare();
  ASSERT_TRUE(Commit().ok());
  Learn();
  const auto windows = taker_->windows.ExportTaken();
  RestartTaker();
  EXPECT_TRUE(taker_->prepared.arriving().none());
  const auto after = taker_->windows.ExportTaken();
  ASSERT_EQ(windows.size(), 1u);
  ASSERT_EQ(after.size(), 1u);
  EXPECT_EQ(after[0].slots, windows[0].slots);
  EXPECT_EQ(after[0].clients, windows[0].clients);
  ExpectTakerServes();
}

// An update that the former owner has applied to some slots, and that is new to
// the taker's others.
TEST_P(MovedSlotsRecovery, AnUpdateThatWasAppliedToSomeSlots) {
  const SlotSet own = SlotRange(6000, 9000);
  Topology topology = *owner_->ownership.topology();
  topology = topology.WithOwner(own, kOther);
  for (ShardParts* shard : {owner_.get(), taker_.get()}) {
    ASSERT_TRUE(shard->Tell(topology).ok());
  }
  taker_->generation = kGeneration;
  taker_->Train("t", InSlots(own, ids_));
  Begin();
  Prepare();
  ASSERT_TRUE(Commit().ok());
  ASSERT_TRUE(taker_->Tell(*owner_->ownership.topology()).ok());
  const Rows before = taker_->RowsOf("t");
  const Ids ids = InSlots(own | moved_, ids_);
  ASSERT_TRUE(taker_->Update("t", ids, kClient, 3));
  const Rows after = taker_->RowsOf("t");
  EXPECT_EQ(InSlots(moved_, after), InSlots(moved_, before));
  EXPECT_NE(InSlots(own, after), InSlots(own, before));
  RestartTaker();
  EXPECT_EQ(taker_->RowsOf("t"), after);
  EXPECT_FALSE(taker_->Update("t", ids, kClient, 3));
  // One that is new to all.
  ASSERT_TRUE(taker_->Update("t", ids, kClient, 4));
  const Rows last = taker_->RowsOf("t");
  RestartTaker();
  EXPECT_EQ(taker_->RowsOf("t"), last);
  EXPECT_FALSE(taker_->Update("t", ids, kClient, 4));
}

TEST_P(MovedSlotsRecovery, ATakerThatGaveUp) {
  Begin();
  Prepare();
  ASSERT_TRUE(taker_->membership->StopTaking(moved_).ok());
  RestartTaker();
  EXPECT_TRUE(taker_->RowsOf("t").empty());
  EXPECT_TRUE(taker_->prepared.arriving().none());
  EXPECT_TRUE(taker_->prepared.prepared().empty());
}

// Slots that go and come back, with no restart of the owner in between.
TEST_P(MovedSlotsRecovery, SlotsThatComeBack) {
  Begin();
  Prepare();
  ASSERT_TRUE(Commit().ok());
  Learn();
  taker_->Update("t", InSlots(moved_, ids_), kClient, 4);
  std::swap(owner_, taker_);
  const Rows own = InSlots(~moved_, taker_->RowsOf("t"));
  Begin();
  hand_over_ = HandOverRequest();
  hand_over_.step = HandOverStep::kHold;
  hand_over_.taker = kOwn;
  hand_over_.slots = moved_;
  hand_over_.hold_ms = HandOverRequest::kMostHoldMs;
  ASSERT_TRUE(owner_->giver->Do(&hand_over_).ok());
  for (const SlotsApplied& each : hand_over_.applied) {
    ASSERT_TRUE(taker_->membership->Prepare(each).ok());
  }
  const Rows moved = owner_->RowsOf("t");
  ASSERT_TRUE(Commit().ok());
  ASSERT_TRUE(taker_->Tell(*owner_->ownership.topology()).ok());
  taker_->membership->Sweep();  // That of the first move comes late.
  RestartTaker();
  EXPECT_TRUE(taker_->ownership.owned_slots().all());
  EXPECT_EQ(InSlots(moved_, taker_->RowsOf("t")), moved);
  EXPECT_EQ(InSlots(~moved_, taker_->RowsOf("t")), own);
  // Update 4 is new to the slots that did not move.
  ASSERT_TRUE(taker_->Update("t", ids_, kClient, 4));
  EXPECT_EQ(InSlots(moved_, taker_->RowsOf("t")), moved);
  EXPECT_NE(InSlots(~moved_, taker_->RowsOf("t")), own);
}

// No other shard took them over meanwhile: the rows are those that were there.
TEST_P(MovedSlotsRecovery, SlotsThatComeBackByATopologyAlone) {
  const Rows rows = owner_->RowsOf("t");
  ASSERT_TRUE(owner_->membership->GiveAway(moved_, kOther).ok());
  ASSERT_TRUE(
      owner_->Tell(owner_->ownership.topology()->WithOwner(moved_, kOwn)).ok());
  RestartOwner();
  EXPECT_TRUE(owner_->ownership.owned_slots().all());
  EXPECT_EQ(owner_->RowsOf("t"), rows);
}

// A table with a limit evicts rows when others arrive; the log tells which.
TEST_P(MovedSlotsRecovery, RowsThatWereEvictedByArrivingOnesStayAway) {
  TableConfig config = MakeConfig("small", 2);
  config.eviction = SpecOf("lru");
  config.capacity = SpecOf("rows(count=400)");
  owner_->MakeTable(config, 9);
  Ids ids = InSlots(moved_, Range(0, 2000));
  ids.resize(200);
  owner_->Train("small", ids);
  // Room for the part of 400 rows that belongs to an eighth of the slots and to
  // those that arrive.
  ASSERT_TRUE(taker_
                  ->Tell(owner_->ownership.topology()->WithOwner(
                      SlotRange(kSlots - kSlots / 8, kSlots), kOther))
                  .ok());
  taker_->generation = kGeneration;
  Begin();
  const Rows placed = taker_->RowsOf("small");
  EXPECT_EQ(placed.size(), 400u * (kSlots / 8 + moved_.count()) / kSlots);
  RestartTaker();
  EXPECT_EQ(taker_->RowsOf("small"), placed);
}

INSTANTIATE_TEST_SUITE_P(Bases, MovedSlotsRecovery, ::testing::Bool());

}  // namespace
}  // namespace persia
