// What followers of a shard are told while it gets slots and gives slots away.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <random>

#include "cc/base/hash.h"
#include "cc/following/followers.h"
#include "tests/cc/service/changes_calls.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

constexpr uint32_t kDim = 3;

SlotSet Set(uint32_t first, uint32_t end) {
  SlotSet slots;
  for (uint32_t slot = first; slot < end; ++slot) slots.set(slot);
  return slots;
}

class MovedSlotsTest : public ::testing::Test {
 protected:
  MovedSlotsTest() {
    EXPECT_TRUE(
        store_.CreateTable(MakeConfig("t", kDim, "uniform", "adagrad")).ok());
    Get(Set(0, kSlots / 2));
  }

  Table* table() { return *store_.Find(HashName("t")); }

  Copy Follower(uint64_t number = 7) {
    return Copy(
        [this](ChangesRequest* request) { return followers_.Tell(request); },
        number);
  }

  // Gets slots, with the rows that the store has of them.
  void Get(const SlotSet& slots) {
    const SlotSet all = SlotsIn(owned_) | slots;
    std::map<uint32_t, SlotSet> by_epoch;
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      epochs_[slot] += slots[slot];
      if (all[slot]) by_epoch[epochs_[slot]].set(slot);
    }
    owned_.epochs.clear();
    for (const auto& [epoch, of_epoch] : by_epoch) {
      owned_.epochs.push_back({epoch, of_epoch});
    }
  }

  // Gives slots away; their rows stay until they are swept.
  void Give(const SlotSet& slots) {
    owned_ = Restricted(owned_, ~slots);
    for (uint32_t slot = 0; slot < kSlots; ++slot) epochs_[slot] += slots[slot];
  }

  // Begins to take slots over: no row of an earlier time is left of them.
  void Sweep(const SlotSet& slots) { table()->RemoveSlots(slots); }

  Weights OwnRows() {
    const SlotSet owned = SlotsIn(owned_);
    Weights rows;
    for (const auto& [id, row] : ExportAll(*table())) {
      if (owned[SlotOf(id)]) rows[id] = row.weights;
    }
    return rows;
  }

  void ExpectCopied(Copy* copy) {
    const SlotSet owned = SlotsIn(owned_);
    Weights rows;
    for (const auto& [id, row] : (*copy)["t"]) {
      if (owned[SlotOf(id)]) rows[id] = row;
    }
    EXPECT_EQ(rows, OwnRows());
    EXPECT_EQ(CommonSlots(copy->held, owned_), owned);
    EXPECT_EQ(SlotsIn(copy->held), owned);
  }

  Store store_;
  OwnedSlots owned_{1, {}};
  uint64_t saved_ = 0;
  Followers followers_{
      {&store_, [this] { return saved_; }, [this] { return owned_; }}};

 private:
  std::map<uint32_t, uint32_t> epochs_;
};

TEST_F(MovedSlotsTest, RowsOfOtherSlotsAreNotTold) {
  Look(table(), Range(0, 1000));
  Copy copy = Follower();
  EXPECT_EQ(copy.CatchUp(), OwnRows().size());
  EXPECT_LT(OwnRows().size(), 600u);
  table()->Update(Range(0, 1000), Floats(1000 * kDim, 1.0f), 0.1f);
  table()->Remove(Range(0, 500));
  Look(table(), Range(1000, 1100));
  copy.CatchUp();
  EXPECT_EQ(copy["t"], OwnRows());
}

TEST_F(MovedSlotsTest, AllRowsOfGainedSlotsAreToldAndOthersDropped) {
  Look(table(), Range(0, 1000));
  Copy copy = Follower();
  copy.CatchUp();
  const SlotSet gained = Set(kSlots / 2, kSlots);
  Get(gained);
  EXPECT_TRUE(copy.Poll(100).ok());
  EXPECT_EQ(copy.fresh, gained);
  EXPECT_FALSE(copy.complete);
  copy.CatchUp(100);
  EXPECT_EQ(copy["t"].size(), 1000u);
  ExpectCopied(&copy);
  EXPECT_TRUE(copy.Poll().ok());
  EXPECT_TRUE(copy.fresh.none());
  EXPECT_EQ(copy.told, 0u);
  // Changes are recorded from now on, of gained slots and of others.
  table()->Update(Range(0, 1000), Floats(1000 * kDim, 1.0f), 0.1f);
  EXPECT_EQ(copy.CatchUp(), 1000u);
  ExpectCopied(&copy);
}

TEST_F(MovedSlotsTest, SlotsThatWereGivenAwayAreNotToldAnyMore) {
  Look(table(), Range(0, 1000));
  Copy copy = Follower();
  copy.CatchUp();
  const Weights before = copy["t"];
  table()->Update(Range(0, 1000), Floats(1000 * kDim, 1.0f), 0.1f);
  Give(Set(0, kSlots / 2));
  Sweep(Set(0, kSlots / 2));
  EXPECT_EQ(copy.CatchUp(), 0u);
  EXPECT_EQ(copy["t"], before);
}

TEST_F(MovedSlotsTest, ARowThatTheOtherOwnerRemovedIsDroppedOnceItIsBack) {
  Look(table(), Range(0, 1000));
  Copy copy = Follower();
  copy.CatchUp();
  const SlotSet moved = Set(0, 2000);
  Give(moved);
  Sweep(moved);
  EXPECT_TRUE(copy.Poll().ok());  // Now the removals are forgotten.
  Ids back;
  for (const auto& [id, row] : copy["t"]) {
    if (moved[SlotOf(id)]) back.push_back(id);
  }
  ASSERT_GT(back.size(), 20u);
  back.resize(back.size() / 2);
  Look(table(), back);
  Get(moved);
  copy.CatchUp();
  ExpectCopied(&copy);
}

TEST_F(MovedSlotsTest, SlotsThatWentAndCameBackBetweenTwoRepliesAreToldAnew) {
  Look(table(), Range(0, 1000));
  Copy copy = Follower();
  copy.CatchUp();
  const SlotSet moved = Set(0, 2000);
  Give(moved);
  Sweep(moved);
  Get(moved);
  EXPECT_TRUE(copy.Poll().ok());
  EXPECT_EQ(copy.fresh, moved);
  copy.CatchUp();
  ExpectCopied(&copy);
}

TEST_F(MovedSlotsTest, ALostReplyIsRepeatedAsTheSlotsAreThen) {
  Look(table(), Range(0, 1000));
  Copy copy = Follower();
  copy.CatchUp();
  table()->Update(Range(0, 1000), Floats(1000 * kDim, 1.0f), 0.1f);
  EXPECT_TRUE(copy.Poll(1000, /*lost=*/true).ok());
  Give(Set(0, 1000));
  Get(Set(kSlots / 2, kSlots));
  EXPECT_TRUE(copy.Poll().ok());
  EXPECT_EQ(copy.fresh, Set(kSlots / 2, kSlots));
  EXPECT_FALSE(copy.complete);
  copy.CatchUp();
  ExpectCopied(&copy);
}

TEST_F(MovedSlotsTest, OneThatNeedsNoEarlierRowsBeginsAnewWhenSlotsArrive) {
  Look(table(), Range(0, 1000));
  Copy copy = Follower();
  copy.position.base_save = FollowPosition::kNow;
  copy.CatchUp();
  table()->Update(Range(0, 1000), Floats(1000 * kDim, 1.0f), 0.1f);
  Get(Set(kSlots / 2, kSlots));
  EXPECT_EQ(copy.CatchUp(), 0u);
  EXPECT_EQ(copy.begins, Begins::kSinceSave);
  table()->Update(Range(0, 1000), Floats(1000 * kDim, 1.0f), 0.1f);
  EXPECT_EQ(copy.CatchUp(), 1000u);
}

TEST_F(MovedSlotsTest, OneThatTakesRowsOverIsToldOfAllSlotsThatItAsksFor) {
  Look(table(), Range(0, 1000));
  ChangesRequest request;
  request.position.follower = 9;
  request.max_rows = 10'000;
  request.whole_rows = true;
  request.slots = Set(kSlots / 4, kSlots);
  ASSERT_TRUE(followers_.Tell(&request).ok());
  ASSERT_EQ(request.tables.size(), 1u);
  size_t asked = 0;
  for (int64_t id = 0; id < 1000; ++id) asked += request.slots[SlotOf(id)];
  EXPECT_EQ(request.tables[0].rows.ids.size(), asked);
}

// Another shard may have removed rows of them, of which this one does not know.
TEST_F(MovedSlotsTest, OneThatTakesRowsOverBeginsAgainIfSlotsCameBack) {
  Look(table(), Range(0, 1000));
  ChangesRequest request;
  request.position.follower = 9;
  request.max_rows = 10'000;
  request.whole_rows = true;
  request.slots = Set(0, kSlots / 2);
  ASSERT_TRUE(followers_.Tell(&request).ok());
  Give(Set(0, kSlots / 4));
  ASSERT_TRUE(followers_.Tell(&request).ok());
  EXPECT_EQ(request.begins, Begins::kNothing);
  Get(Set(kSlots / 2, kSlots));  // It has not asked for these.
  ASSERT_TRUE(followers_.Tell(&request).ok());
  EXPECT_EQ(request.begins, Begins::kNothing);
  Get(Set(0, kSlots / 8));
  ASSERT_TRUE(followers_.Tell(&request).ok());
  EXPECT_EQ(request.begins, Begins::kWhole);
}

TEST_F(MovedSlotsTest, AnyMovesComeToTheSame) {
  std::mt19937_64 random(5);
  Copy copy = Follower();
  for (int i = 0; i < 900; ++i) {
    ChangeAny(table(), &random);
    if (random() % 20 == 0) {
      const auto first = static_cast<uint32_t>(random() % kSlots);
      const SlotSet slots = Set(first, std::min(kSlots, first + 3000));
      const SlotSet owned = SlotsIn(owned_);
      if (random() % 2 == 0) {
        Give(slots & owned);
        if (random() % 2 == 0) Sweep(slots & owned);
      } else {
        Sweep(slots & ~owned);
        ChangeAny(table(), &random);
        if (random() % 2 == 0) {
          EXPECT_TRUE(copy.Poll(50).ok());
        }
        ChangeAny(table(), &random);
        Get(slots & ~owned);
      }
    }
    if (random() % 2 == 0) {
      EXPECT_TRUE(copy.Poll(1 + random() % 200, random() % 3 == 0).ok());
    }
    if (random() % 300 == 0) copy.position.version += 1000;
    if (i % 150 == 149) {
      copy.CatchUp();
      ExpectCopied(&copy);
    }
  }
}

}  // namespace
}  // namespace persia
