// What a table does when slots come and go: feeds of some slots with whole
// rows, rows that arrive, and the removal of a slot's rows.

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/cc/store/freeze_calls.h"
#include "tests/cc/store/slot_calls.h"

namespace persia {
namespace {

std::unique_ptr<RowFeed> FollowSlots(Table* table, const SlotSet& slots,
                                     FeedStart start = FeedStart::kAllRows) {
  FeedForm form;
  form.whole = true;
  form.slots = std::make_shared<const SlotSet>(slots);
  auto feed = table->Follow(start, form);
  EXPECT_TRUE(feed.ok()) << feed.status().message();
  return std::move(*feed);
}

// Sets the rows of a delta in `copy`, a table with the same settings.
void Apply(const RowDelta& delta, const SlotSet& slots, Table* copy) {
  EXPECT_TRUE(delta.weights.empty());
  ASSERT_EQ(delta.bytes.size(), delta.ids.size() * copy->layout().row_bytes);
  EXPECT_EQ(InSlots(slots, delta.ids), delta.ids);
  EXPECT_EQ(InSlots(slots, delta.erased), delta.erased);
  copy->Place({delta.ids, delta.bytes});
  copy->Remove(delta.erased);
}

// Takes all deltas that are left; returns how many ids were told.
size_t TakeAll(RowFeed* feed, const SlotSet& slots, Table* copy) {
  size_t taken = 0;
  for (bool more = true; more;) {
    RowDelta delta;
    more = feed->Take(500, &delta);
    Apply(delta, slots, copy);
    taken += delta.size();
  }
  return taken;
}

class TableSlots : public ::testing::TestWithParam<std::string> {
 protected:
  TableSlots()
      : table_(TableOf(ConfigOf(GetParam()))),
        copy_(TableOf(ConfigOf(GetParam()))) {
    Look(table_.get(), Range(0, 3000));
    table_->Update(Range(0, 2000), Floats(8000, 0.5f), 0.1f);
  }

  // The weights and the state of the rows, to the bit.
  void ExpectCopied() const {
    EXPECT_EQ(ExportAll(*copy_), InSlots(slots_, ExportAll(*table_)));
  }

  const SlotSet slots_ = EvenSlots();
  const std::shared_ptr<Table> table_;
  const std::shared_ptr<Table> copy_;
};

TEST_P(TableSlots, AFeedKnowsWhenItHasToldAllFirstRows) {
  const auto feed = FollowSlots(table_.get(), slots_);
  size_t told = 0;
  while (!feed->only_changes()) {
    table_->Update(Range(0, 1000), Floats(4000, 0.5f), 0.1f);
    RowDelta delta;
    ASSERT_TRUE(feed->Take(500, &delta));
    ASSERT_GT(delta.size(), 0u);
    told += delta.size();
  }
  // Each row once: none of those that have changed again.
  EXPECT_EQ(told, InSlots(slots_, Range(0, 3000)).size());
  SlotSet gained;
  gained.set(SlotOf(InSlots(~slots_, Range(0, 3000)).front()));
  feed->UseSlots(nullptr, gained);
  EXPECT_FALSE(feed->only_changes());
}

TEST_P(TableSlots, PlacedRowsAreNoted) {
  FeedForm whole;
  whole.whole = true;
  const Ids ids = InSlots(slots_, Range(0, 3000));
  Look(copy_.get(), {ids.front()});
  const auto notes = std::move(*copy_->Follow(FeedStart::kNow, whole));
  const auto feed = FollowSlots(table_.get(), slots_);
  RowDelta rows;
  while (feed->Take(500, &rows)) {
  }
  RowChanges changes;
  copy_->Place({rows.ids, rows.bytes}, &changes);
  EXPECT_EQ(changes.size(), ids.size() - 1);
  for (const RowChange& change : changes) {
    EXPECT_TRUE(change.created);
    EXPECT_NE(change.id, ids.front());
  }
  RowDelta noted;
  while (notes->Take(500, &noted)) {
  }
  EXPECT_EQ(std::set<int64_t>(noted.ids.begin(), noted.ids.end()),
            std::set<int64_t>(ids.begin(), ids.end()));
  ExpectCopied();
}

TEST_P(TableSlots, ARowThatIsPlacedTwiceAtOnceIsThereOnce) {
  const auto feed = FollowSlots(table_.get(), slots_);
  RowDelta rows;
  while (feed->Take(500, &rows)) {
  }
  Ids ids = rows.ids;
  ids.insert(ids.end(), rows.ids.begin(), rows.ids.end());
  std::vector<std::byte> bytes = rows.bytes;
  bytes.insert(bytes.end(), rows.bytes.begin(), rows.bytes.end());
  copy_->Place({ids, bytes});
  EXPECT_EQ(copy_->Stats().rows, rows.ids.size());
  ExpectCopied();
}

TEST_P(TableSlots, AFeedTellsOfItsSlotsAlone) {
  const auto feed = FollowSlots(table_.get(), slots_);
  EXPECT_EQ(TakeAll(feed.get(), slots_, copy_.get()),
            InSlots(slots_, Range(0, 3000)).size());
  ExpectCopied();
  EXPECT_EQ(TakeAll(feed.get(), slots_, copy_.get()), 0u);
  const Ids others = InSlots(~slots_, Range(0, 6000));
  Look(table_.get(), others);
  table_->Update(others, Floats(others.size() * 4, 1.0f), 0.1f);
  table_->Remove(others);
  EXPECT_EQ(TakeAll(feed.get(), slots_, copy_.get()), 0u);
  ExpectCopied();
}

TEST_P(TableSlots, AFeedGoesOnWithTheChangesOfItsSlots) {
  const auto feed = FollowSlots(table_.get(), slots_);
  TakeAll(feed.get(), slots_, copy_.get());
  const Ids changed = Range(100, 200), removed = Range(500, 600),
            created = Range(7000, 7100);
  size_t own = 0;
  for (const Ids& ids : {changed, removed, created}) {
    own += InSlots(slots_, ids).size();
  }
  table_->Update(changed, Floats(400, 1.0f), 0.1f);
  table_->Remove(removed);
  Look(table_.get(), created);
  EXPECT_EQ(TakeAll(feed.get(), slots_, copy_.get()), own);
  ExpectCopied();
}

TEST_P(TableSlots, AFeedMayBeginNow) {
  const auto feed = FollowSlots(table_.get(), slots_, FeedStart::kNow);
  EXPECT_EQ(TakeAll(feed.get(), slots_, copy_.get()), 0u);
  const Ids changed = Range(100, 200);
  table_->Update(changed, Floats(400, 1.0f), 0.1f);
  EXPECT_EQ(TakeAll(feed.get(), slots_, copy_.get()),
            InSlots(slots_, changed).size());
  EXPECT_EQ(ExportedIds(*copy_), InSlots(slots_, changed));
}

TEST_P(TableSlots, AFeedMayBeginWithWhatChangedSinceASave) {
  EXPECT_TRUE(table_->FreezeToSave(SaveScope::kWhole).ok());
  table_->CommitSave();
  const Ids changed = Range(100, 200), removed = Range(300, 400);
  table_->Update(changed, Floats(400, 1.0f), 0.1f);
  table_->Remove(removed);
  const auto feed = FollowSlots(table_.get(), slots_, FeedStart::kLastSave);
  EXPECT_EQ(TakeAll(feed.get(), slots_, copy_.get()),
            InSlots(slots_, changed).size() + InSlots(slots_, removed).size());
  EXPECT_EQ(ExportedIds(*copy_), InSlots(slots_, changed));
}

// A row's number passes from an id of other slots to one of the feed's, whose
// changes are then told, and back.
TEST_P(TableSlots, ARowNumberMayPassToAnIdOfOtherSlots) {
  const auto feed = FollowSlots(table_.get(), slots_);
  TakeAll(feed.get(), slots_, copy_.get());
  for (int round = 0; round < 6; ++round) {
    const SlotSet from = round % 2 == 0 ? ~slots_ : slots_;
    const Ids going = InSlots(from, ExportedIds(*table_));
    const Ids coming =
        InSlots(~from, Range(10000 * (round + 1), 10000 * (round + 1) + 3000));
    table_->Remove(going);
    Look(table_.get(), coming);
    TakeAll(feed.get(), slots_, copy_.get());
    ExpectCopied();
    const Ids all = ExportedIds(*table_);
    table_->Update(all, Floats(all.size() * 4, 1.0f), 0.1f);
    EXPECT_EQ(TakeAll(feed.get(), slots_, copy_.get()),
              InSlots(slots_, all).size());
    ExpectCopied();
  }
}

TEST_P(TableSlots, ReadGivesWholeRows) {
  const auto feed = FollowSlots(table_.get(), slots_);
  TakeAll(feed.get(), slots_, copy_.get());
  const Ids own = InSlots(slots_, Range(0, 40));
  table_->Update(own, Floats(own.size() * 4, 1.0f), 0.1f);
  table_->Remove(Ids{own[0]});
  RowDelta delta;
  feed->Read(own, &delta);
  EXPECT_EQ(delta.erased, Ids{own[0]});
  EXPECT_EQ(delta.ids.size(), own.size() - 1);
  Apply(delta, slots_, copy_.get());
  ExpectCopied();
}

TEST_P(TableSlots, ACopyComesToBeTheSameWhateverComesBetween) {
  std::mt19937_64 random(7);
  const auto feed = FollowSlots(table_.get(), slots_);
  for (int i = 0; i < 500; ++i) {
    RowDelta delta;
    (void)feed->Take(random() % 100, &delta);
    Apply(delta, slots_, copy_.get());
    ChangeAny(table_.get(), &random);
  }
  TakeAll(feed.get(), slots_, copy_.get());
  ExpectCopied();
}

TEST_P(TableSlots, RemoveSlotsRemovesTheirRowsAlone) {
  const Rows before = ExportAll(*table_);
  const Ids own = InSlots(slots_, Range(0, 3000));
  EXPECT_EQ(table_->RemoveSlots(SlotSet()), 0u);
  EXPECT_EQ(table_->RemoveSlots(slots_), own.size());
  EXPECT_EQ(ExportAll(*table_), InSlots(~slots_, before));
  EXPECT_EQ(table_->Stats().rows, before.size() - own.size());
  EXPECT_EQ(table_->RemoveSlots(slots_), 0u);
  // The ids begin anew.
  Look(table_.get(), own);
  EXPECT_EQ(table_->Stats().rows, before.size());
}

TEST_P(TableSlots, RemovedSlotsAreKeptForSnapshots) {
  auto frozen = table_->Freeze();
  ASSERT_TRUE(frozen.ok());
  const Rows before = ExportAll(*table_);
  SlotSet some;
  for (uint32_t slot = 0; slot < kSlots / 2; ++slot) some.set(slot);
  table_->RemoveSlots(some);
  RawRows kept;
  for (bool more = true; more;) {
    const auto read = (*frozen)->Read(1000, &kept);
    ASSERT_TRUE(read.ok());
    more = *read;
  }
  const auto snapshot = TableOf(ConfigOf(GetParam()));
  snapshot->Restore(kept);
  EXPECT_EQ(ExportAll(*snapshot), before);
}

// A list of them would be longer than a list of all rows that are left.
TEST_P(TableSlots, RemovedSlotsAreNotToldToFeeds) {
  const auto feed = FollowSlots(table_.get(), slots_);
  Look(table_.get(), Range(3000, 500000));
  TakeAll(feed.get(), slots_, copy_.get());
  const SlotSet all = SlotSet().set();
  EXPECT_EQ(table_->RemoveSlots(all), 500000u);
  copy_->RemoveSlots(all);
  EXPECT_FALSE(feed->lost());
  RowDelta delta;
  EXPECT_FALSE(feed->Take(500, &delta));
  EXPECT_EQ(delta.size(), 0u);
  // Rows that come into the places of the removed ones are told.
  const Ids own = InSlots(slots_, Range(0, 3000));
  Look(table_.get(), Range(0, 3000));
  EXPECT_EQ(TakeAll(feed.get(), slots_, copy_.get()), own.size());
  ExpectCopied();
}

INSTANTIATE_TEST_SUITE_P(Dtypes, TableSlots,
                         ::testing::Values("float32", "bfloat16", "int8"));

// More rows than one lock covers.
TEST(TableSlotsOnce, RemoveSlotsWalksOverLargeSubShards) {
  TableConfig config = MakeConfig("t", 1);
  const auto table = TableOf(config);
  const Ids ids = Range(0, 250000);
  Look(table.get(), ids);
  const SlotSet slots = EvenSlots();
  const size_t own = InSlots(slots, ids).size();
  EXPECT_EQ(table->RemoveSlots(slots), own);
  const Ids left = ExportedIds(*table);
  EXPECT_EQ(left, InSlots(~slots, ids));
}

TEST(TableSlotsOnce, RemoveSlotsLeavesOtherSlotsToTheirThreads) {
  const auto table = TableOf(ConfigOf());
  const SlotSet slots = EvenSlots();
  const Ids others = InSlots(~slots, Range(0, 3000));
  Look(table.get(), Range(0, 3000));
  std::atomic<int> removals{0};
  RunInThreads([&](int thread) {
    if (thread == 0) {
      for (; removals < 20; ++removals) table->RemoveSlots(slots);
      return;
    }
    std::mt19937_64 random(static_cast<uint64_t>(thread));
    while (removals < 20) ChangeAny(table.get(), &random);
  });
  table->RemoveSlots(slots);
  EXPECT_EQ(InSlots(slots, ExportAll(*table)), Rows());
  Look(table.get(), others);
  EXPECT_EQ(table->Stats().rows, ExportAll(*table).size());
  EXPECT_EQ(InSlots(~slots, ExportedIds(*table)), ExportedIds(*table));
}

TEST(TableSlotsOnce, WholeRowsCarryWhenTheyWereUsed) {
  TableConfig config = ConfigOf();
  config.eviction = SpecOf("ttl(steps=5)");
  const auto table = TableOf(config), copy = TableOf(config);
  Look(table.get(), Range(0, 100));
  for (int step = 0; step < 3; ++step) Look(table.get(), Range(0, 50));
  const SlotSet all = SlotSet().set();
  const auto feed = FollowSlots(table.get(), all);
  EXPECT_EQ(TakeAll(feed.get(), all, copy.get()), 100u);
  copy->SetTime(table->time());
  // Two more steps, and the rows that only the first step used have expired.
  for (int step = 0; step < 2; ++step) {
    for (Table* each : {table.get(), copy.get()}) Look(each, {1000});
  }
  EXPECT_EQ(ExportedIds(*table).size(), 51u);
  EXPECT_EQ(ExportAll(*copy), ExportAll(*table));
}

TEST(TableSlotsOnce, RemovedSlotsLeaveRoomForOthers) {
  TableConfig config = ConfigOf();
  config.eviction = SpecOf("lru");
  config.capacity = SpecOf("rows(count=1000)");
  const auto table = TableOf(config);
  Look(table.get(), Range(0, 1000));
  table->RemoveSlots(EvenSlots());
  const Ids left = ExportedIds(*table);
  Look(table.get(), Range(5000, 6000 - static_cast<int64_t>(left.size())));
  EXPECT_EQ(table->Stats().rows, 1000u);
  Ids still = ExportedIds(*table);
  still.resize(left.size());  // They come in order, the new ones last.
  EXPECT_EQ(still, left);
}

TEST(TableSlotsOnce, WhatHasExpiredIsErased) {
  TableConfig config = ConfigOf();
  config.eviction = SpecOf("ttl(steps=5)");
  const auto table = TableOf(config), copy = TableOf(config);
  table->SetEvicts(false);  // Else it removes what has expired itself.
  Look(table.get(), Range(0, 100));
  const auto feed = FollowSlots(table.get(), EvenSlots());
  for (int step = 0; step < 10; ++step) Look(table.get(), {1000});
  RowDelta delta;
  while (feed->Take(1000, &delta)) {
  }
  EXPECT_EQ(delta.ids, InSlots(EvenSlots(), {1000}));
  EXPECT_EQ(delta.erased.size(), InSlots(EvenSlots(), Range(0, 100)).size());
}

// The bytes of all rows of a table.
RawRows AllRaw(Table* table) {
  auto frozen = table->Freeze();
  EXPECT_TRUE(frozen.ok());
  RawRows rows;
  for (bool more = true; more;) {
    const auto read = (*frozen)->Read(1000, &rows);
    EXPECT_TRUE(read.ok());
    more = read.ok() && *read;
  }
  return rows;
}

TEST(TableRestore, TellsWhichRowsItEvicts) {
  TableConfig config = ConfigOf();
  config.eviction = SpecOf("lru");
  config.capacity = SpecOf("rows(count=1000)");
  const auto table = TableOf(config), other = TableOf(config);
  Look(other.get(), Range(0, 1000));
  const RawRows arriving = AllRaw(other.get());
  for (int64_t at = 5000; at < 5600; at += 100) {
    Look(table.get(), Range(at, at + 100));
  }
  RowChanges changes;
  table->Restore(arriving, &changes);
  std::map<int64_t, int> left;
  for (const int64_t id : Range(5000, 5600)) left[id] = 1;
  for (const int64_t id : Range(0, 1000)) left[id] = 1;
  for (const RowChange& change : changes) {
    EXPECT_FALSE(change.created) << change.id;
    EXPECT_EQ(left.erase(change.id), 1u) << change.id;
  }
  EXPECT_EQ(changes.size(), 600u);
  Ids expected;
  for (const auto& [id, one] : left) expected.push_back(id);
  EXPECT_EQ(ExportedIds(*table), expected);
}

TEST(TableRestore, ReplacesRowsAndCreatesThoseThatAdmissionWouldRefuse) {
  TableConfig config = ConfigOf();
  config.admission = SpecOf("min_count(count=9)");
  const auto table = TableOf(config), other = TableOf(ConfigOf());
  table->Assign(Range(0, 50), Floats(200, 7.0f), {});
  Look(other.get(), Range(0, 100));
  other->Update(Range(0, 100), Floats(400, 1.0f), 0.1f);
  RowChanges changes;
  table->Restore(AllRaw(other.get()), &changes);
  EXPECT_EQ(ExportAll(*table), ExportAll(*other));
  EXPECT_EQ(table->Stats().rows, 100u);
  EXPECT_TRUE(changes.empty());
}

}  // namespace
}  // namespace persia
