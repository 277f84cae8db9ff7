// Feeds: a copy that gets the changes of a table becomes equal to the table.

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <string>

#include "tests/cc/store/freeze_calls.h"

namespace persia {
namespace {

using Weights = std::map<int64_t, Floats>;

std::unique_ptr<RowFeed> Follow(Table* table,
                                FeedStart start = FeedStart::kAllRows) {
  auto feed = table->Follow(start);
  EXPECT_TRUE(feed.ok()) << feed.status().message();
  return std::move(*feed);
}

Weights WeightsOf(const Table& table) {
  Weights weights;
  for (const auto& [id, row] : ExportAll(table)) weights[id] = row.weights;
  return weights;
}

// Fails if an id is told of twice.
void Apply(const RowDelta& delta, size_t dim, Weights* copy) {
  std::set<int64_t> told;
  ASSERT_EQ(delta.weights.size(), delta.ids.size() * dim);
  for (const int64_t id : delta.erased) {
    EXPECT_TRUE(told.insert(id).second) << id;
    copy->erase(id);
  }
  for (size_t i = 0; i < delta.ids.size(); ++i) {
    EXPECT_TRUE(told.insert(delta.ids[i]).second) << delta.ids[i];
    const float* row = delta.weights.data() + i * dim;
    (*copy)[delta.ids[i]] = Floats(row, row + dim);
  }
}

// Takes all deltas that are left; returns how many ids were told.
size_t TakeAll(RowFeed* feed, Weights* copy, size_t count = 1000) {
  size_t taken = 0;
  for (bool more = true; more;) {
    RowDelta delta;
    more = feed->Take(count, &delta);
    Apply(delta, 4, copy);
    taken += delta.size();
  }
  return taken;
}

class TableFeeds : public ::testing::TestWithParam<std::string> {
 protected:
  TableFeeds() : table_(TableOf(ConfigOf(GetParam()))) {
    Look(table_.get(), Range(0, 3000));
  }

  void Save() {
    ASSERT_TRUE(table_->FreezeToSave(SaveScope::kWhole).ok());
    table_->CommitSave();
  }

  void ExpectCopied() const { EXPECT_EQ(copy_, WeightsOf(*table_)); }

  const std::shared_ptr<Table> table_;
  Weights copy_;
};

TEST_P(TableFeeds, BeginWithAllRowsAndGoOnWithChangesAlone) {
  const auto feed = Follow(table_.get());
  EXPECT_EQ(TakeAll(feed.get(), &copy_, 100), 3000u);
  ExpectCopied();
  EXPECT_EQ(TakeAll(feed.get(), &copy_), 0u);
  Look(table_.get(), {1, 5000});
  Peek(table_.get(), Range(0, 4000));
  table_->Update(Ids{2, 3, 9999}, Floats(12, 1.0f), 0.1f);
  table_->Assign(Ids{3, 4, 6000}, Floats(12, 2.0f), {});
  table_->Create(Ids{7000});
  table_->Remove(Ids{8, 9, 8888});
  Look(table_.get(), {9});
  EXPECT_EQ(TakeAll(feed.get(), &copy_), 8u);
  ExpectCopied();
}

TEST_P(TableFeeds, ARestoredRowIsTold) {
  const auto feed = Follow(table_.get());
  RawRows rows;
  {
    const auto frozen = std::move(*table_->Freeze());
    while (*frozen->Read(1000, &rows)) {
    }
  }
  TakeAll(feed.get(), &copy_);
  table_->Update(Range(0, 3000), Floats(12000, 1.0f), 0.1f);
  TakeAll(feed.get(), &copy_);
  table_->Restore(rows);
  EXPECT_EQ(TakeAll(feed.get(), &copy_), 3000u);
  ExpectCopied();
}

TEST_P(TableFeeds, ARowNumberThatIsUsedAgainIsOfItsNewId) {
  const auto feed = Follow(table_.get());
  TakeAll(feed.get(), &copy_);
  for (int round = 0; round < 5; ++round) {
    table_->Update(Range(round * 100, round * 100 + 100), Floats(400, 1.0f),
                   0.1f);
    table_->Remove(Range(round * 100, round * 100 + 100));
    Look(table_.get(), Range(5000 + round * 60, 5060 + round * 60));
    EXPECT_EQ(TakeAll(feed.get(), &copy_), 160u);
    ExpectCopied();
  }
}

TEST_P(TableFeeds, FeedsDoNotTakeFromEachOther) {
  const auto feed = Follow(table_.get());
  TakeAll(feed.get(), &copy_);
  Weights other_copy;
  const auto other = Follow(table_.get());
  table_->Remove(Ids{1});
  EXPECT_EQ(TakeAll(feed.get(), &copy_), 1u);
  TakeAll(other.get(), &other_copy);
  ExpectCopied();
  EXPECT_EQ(other_copy, copy_);
}

TEST_P(TableFeeds, BeginWithWhatChangedSinceASave) {
  table_->Update(Ids{1}, Floats(4, 1.0f), 0.1f);
  Save();
  copy_ = WeightsOf(*table_);
  table_->Update(Ids{2, 3}, Floats(8, 1.0f), 0.1f);
  // A save that is never committed.
  EXPECT_TRUE(table_->FreezeToSave(SaveScope::kChanges).ok());
  table_->Remove(Ids{4, 5});
  Look(table_.get(), {5, 5000});
  const auto feed = Follow(table_.get(), FeedStart::kLastSave);
  Save();  // Does not affect the feed.
  table_->Update(Ids{6}, Floats(4, 1.0f), 0.1f);
  // 4 is told, and so are 2, 3, 5, 6 and 5000.
  EXPECT_EQ(TakeAll(feed.get(), &copy_), 6u);
  ExpectCopied();
}

TEST_P(TableFeeds, ReadGivesIdsAsTheyAreAndTakesNothing) {
  const auto feed = Follow(table_.get());
  TakeAll(feed.get(), &copy_);
  table_->Remove(Ids{1});
  table_->Assign(Ids{2}, Floats(4, 2.0f), {});
  RowDelta delta;
  feed->Read(Ids{1, 2, 3, 9999}, &delta);
  EXPECT_EQ(std::set<int64_t>(delta.ids.begin(), delta.ids.end()),
            (std::set<int64_t>{2, 3}));
  EXPECT_EQ(std::set<int64_t>(delta.erased.begin(), delta.erased.end()),
            (std::set<int64_t>{1, 9999}));
  EXPECT_EQ(TakeAll(feed.get(), &copy_), 2u);
  ExpectCopied();
}

TEST_P(TableFeeds, ComeToBeTheSameWhateverComesBetween) {
  std::mt19937_64 random(7);
  for (const FeedStart start :
       {FeedStart::kAllRows, FeedStart::kLastSave, FeedStart::kNow}) {
    Save();
    copy_ = start == FeedStart::kAllRows ? Weights() : WeightsOf(*table_);
    for (int i = 0; i < 30; ++i) ChangeAny(table_.get(), &random);
    if (start == FeedStart::kNow) copy_ = WeightsOf(*table_);
    const auto feed = Follow(table_.get(), start);
    for (int i = 0; i < 500; ++i) {
      RowDelta delta;
      (void)feed->Take(random() % 100, &delta);
      Apply(delta, 4, &copy_);
      ChangeAny(table_.get(), &random);
    }
    TakeAll(feed.get(), &copy_);
    ExpectCopied();
  }
}

TEST_P(TableFeeds, ThreadsThatChangeRowsLoseNothing) {
  const auto feed = Follow(table_.get());
  std::atomic<int> steps{0};
  std::atomic<bool> ended{false};
  RunInThreads([&](int thread) {
    if (thread == 0) {
      while (steps < 200) {
        RowDelta delta;
        (void)feed->Take(300, &delta);
        Apply(delta, 4, &copy_);
        if (steps % 7 == 0) (void)Follow(table_.get());
      }
      ended = true;
      return;
    }
    std::mt19937_64 random(thread);
    do {
      ChangeAny(table_.get(), &random);
      ++steps;
    } while (!ended);
  });
  TakeAll(feed.get(), &copy_);
  ExpectCopied();
}

INSTANTIATE_TEST_SUITE_P(Dtypes, TableFeeds,
                         ::testing::Values("float32", "bfloat16", "int8"));

TEST(TableFeedsOnce, WhatEvictionTakesIsErased) {
  TableConfig config = ConfigOf();
  config.eviction = SpecOf("lru");
  config.capacity = SpecOf("rows(count=1000)");
  const auto table = TableOf(config);
  Look(table.get(), Range(0, 1000));
  const auto feed = Follow(table.get());
  Weights copy;
  TakeAll(feed.get(), &copy);
  for (int64_t at = 1000; at < 4000; at += 500) {
    Look(table.get(), Range(at, at + 500));
    TakeAll(feed.get(), &copy);
    EXPECT_EQ(copy, WeightsOf(*table));
  }
}

TEST(TableFeedsOnce, WhatExpiredIsErased) {
  TableConfig config = ConfigOf();
  config.eviction = SpecOf("ttl(steps=5)");
  const auto table = TableOf(config);
  Look(table.get(), Range(0, 100));
  const auto feed = Follow(table.get());
  Weights copy;
  TakeAll(feed.get(), &copy);
  for (int step = 0; step < 10; ++step) Look(table.get(), {1});
  Look(table.get(), {7});  // Expired, and begun anew.
  TakeAll(feed.get(), &copy);
  EXPECT_EQ(copy, WeightsOf(*table));
  EXPECT_EQ(copy.size(), 2u);
}

TEST(TableFeedsOnce, WhatChangedIsNotKnownBeforeASaveIsCommitted) {
  const auto table = TableOf(ConfigOf());
  EXPECT_EQ(table->Follow(FeedStart::kLastSave).status().code(),
            Code::kFailedPrecondition);
}

TEST(TableFeedsOnce, OneThatDoesNotTakeWhileIdsComeAndGoIsLost) {
  const auto table = TableOf(ConfigOf());
  const auto feed = Follow(table.get());
  const auto other = Follow(table.get());
  Weights copy;
  for (int64_t at = 0; at < 1000000; at += 10000) {
    Look(table.get(), Range(at, at + 10000));
    table->Remove(Range(at, at + 10000));
    TakeAll(other.get(), &copy);
  }
  EXPECT_TRUE(feed->lost());
  EXPECT_FALSE(other->lost());
  EXPECT_TRUE(copy.empty());
}

TEST(TableFeedsOnce, ATableThatNobodyFollowsPaysNothing) {
  const auto table = TableOf(ConfigOf());
  Look(table.get(), Range(0, 100000));
  const uint64_t before = table->Stats().bytes;
  {
    const auto feed = Follow(table.get());
    table->Update(Range(0, 100000), Floats(400000, 1.0f), 0.1f);
    EXPECT_GT(table->Stats().bytes, before + 800000);
  }
  EXPECT_EQ(table->Stats().bytes, before);
  table->Update(Range(0, 100000), Floats(400000, 1.0f), 0.1f);
  EXPECT_EQ(table->Stats().bytes, before);
}

SlotSet SlotsOf(const Ids& ids) {
  SlotSet slots;
  for (const int64_t id : ids) slots.set(SlotOf(id));
  return slots;
}

TEST_P(TableFeeds, GainedSlotsAreToldWholeAndLostOnesNoMore) {
  const auto table = TableOf(ConfigOf(GetParam()));
  Look(table.get(), Range(0, 1000));
  const SlotSet first = SlotsOf(Range(0, 300));
  auto feed = table->Follow(FeedStart::kAllRows,
                            {false, std::make_shared<const SlotSet>(first)});
  ASSERT_TRUE(feed.ok());
  Weights copy;
  TakeAll(feed->get(), &copy);
  const size_t before = copy.size();
  EXPECT_GE(before, 300u);
  table->Update(Range(0, 1000), Floats(4000, 1.0f), 0.1f);
  EXPECT_EQ(TakeAll(feed->get(), &copy), before);
  // All rows of slots that were gained are told, and no others.
  const SlotSet all = SlotsOf(Range(0, 1000));
  (*feed)->UseSlots(std::make_shared<const SlotSet>(all), all & ~first);
  EXPECT_EQ(TakeAll(feed->get(), &copy, 100), 1000 - before);
  EXPECT_EQ(copy, WeightsOf(*table));
  table->Update(Range(0, 1000), Floats(4000, 1.0f), 0.1f);
  EXPECT_EQ(TakeAll(feed->get(), &copy), 1000u);
  EXPECT_EQ(copy, WeightsOf(*table));
  (*feed)->UseSlots(std::make_shared<const SlotSet>(first), SlotSet());
  table->Remove(Range(0, 1000));
  EXPECT_EQ(TakeAll(feed->get(), &copy), before);
  EXPECT_EQ(copy.size(), 1000 - before);
}

}  // namespace
}  // namespace persia
