// Saves of changes: a copy that gets only the changes of a table is equal to
// the table.

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <string>

#include "tests/cc/store/freeze_calls.h"

namespace persia {
namespace {

std::unique_ptr<FrozenRows> Frozen(Table* table, SaveScope scope) {
  auto frozen = table->FreezeToSave(scope);
  EXPECT_TRUE(frozen.ok()) << frozen.status().message();
  return std::move(*frozen);
}

// The ids that a save has.
struct Changes {
  std::set<int64_t> erased;
  std::set<int64_t> set;
};

// Brings a copy to where a table was when it was frozen.
Changes Follow(FrozenRows* frozen, Table* copy, size_t page_rows = 50) {
  Changes changes;
  Ids erased;
  while (frozen->ReadErased(&erased)) {
  }
  changes.erased.insert(erased.begin(), erased.end());
  EXPECT_EQ(changes.erased.size(), erased.size()) << "an id was erased twice";
  copy->Remove(erased);
  RawRows rows;
  for (bool more = true; more;) {
    rows.clear();
    const auto read = frozen->Read(page_rows, &rows);
    EXPECT_TRUE(read.ok()) << read.status().message();
    more = read.ok() && *read;
    for (const int64_t id : rows.ids) {
      EXPECT_TRUE(changes.set.insert(id).second) << id << " was read twice";
    }
    copy->Restore(rows);
  }
  return changes;
}

class TableSaves : public ::testing::TestWithParam<std::string> {
 protected:
  TableSaves()
      : table_(TableOf(ConfigOf(GetParam()))),
        copy_(TableOf(ConfigOf(GetParam()))) {
    Look(table_.get(), Range(0, 3000));
    Save(SaveScope::kWhole);
  }

  void Step(const Ids& ids, float gradient) {
    table_->Update(ids, Floats(ids.size() * 4, gradient), 0.1f);
  }

  Changes Save(SaveScope scope = SaveScope::kChanges) {
    const auto frozen = Frozen(table_.get(), scope);
    const Changes changes = Follow(frozen.get(), copy_.get());
    table_->CommitSave();
    EXPECT_EQ(ExportAll(*copy_), ExportAll(*table_));
    return changes;
  }

  // A save that is never committed.
  void Fail(SaveScope scope = SaveScope::kChanges) {
    Follow(Frozen(table_.get(), scope).get(),
           TableOf(ConfigOf(GetParam())).get());
  }

  const std::shared_ptr<Table> table_;
  const std::shared_ptr<Table> copy_;
};

TEST_P(TableSaves, HasWhatWasTrainedSetMadeAndRemovedAlone) {
  Look(table_.get(), Range(0, 100));
  Peek(table_.get(), Range(100, 5000));
  Step({1, 2, 9999}, 1.0f);
  table_->Assign(Ids{3, 3000}, Floats(8, 2.0f), {});
  Look(table_.get(), {3001});
  table_->Remove(Ids{4, 5, 9999});
  Look(table_.get(), {5});
  const Changes changes = Save();
  EXPECT_EQ(changes.set, (std::set<int64_t>{1, 2, 3, 5, 3000, 3001}));
  EXPECT_EQ(changes.erased, std::set<int64_t>{4});
}

TEST_P(TableSaves, NothingIsThereWhenNothingChanged) {
  Step({1}, 1.0f);
  Save();
  const Changes changes = Save();
  EXPECT_TRUE(changes.set.empty());
  EXPECT_TRUE(changes.erased.empty());
}

TEST_P(TableSaves, ASaveThatFailedHandsItsChangesOn) {
  Step({1}, 1.0f);
  table_->Remove(Ids{2, 3});
  Fail();
  Step({4}, 1.0f);
  Fail(SaveScope::kWhole);
  Look(table_.get(), {3});
  table_->Remove(Ids{5});
  const Changes changes = Save();
  EXPECT_EQ(changes.set, (std::set<int64_t>{1, 3, 4}));
  EXPECT_EQ(changes.erased, (std::set<int64_t>{2, 5}));
  EXPECT_TRUE(Save().set.empty());
}

TEST_P(TableSaves, AWholeSaveBeginsAnew) {
  Step({1}, 1.0f);
  table_->Remove(Ids{2});
  EXPECT_EQ(Save(SaveScope::kWhole).set.size(), 2999u);
  Step({3}, 1.0f);
  const Changes changes = Save();
  EXPECT_EQ(changes.set, std::set<int64_t>{3});
  EXPECT_TRUE(changes.erased.empty());
}

TEST_P(TableSaves, ARowNumberThatIsUsedAgainIsOfItsNewId) {
  for (int round = 0; round < 5; ++round) {
    table_->Remove(Range(round * 100, round * 100 + 100));
    Look(table_.get(), Range(5000 + round * 60, 5060 + round * 60));
    const auto frozen = Frozen(table_.get(), SaveScope::kChanges);
    const Rows then = ExportAll(*table_);
    table_->Remove(Range(5000 + round * 60, 5030 + round * 60));
    Look(table_.get(), Range(9000 + round * 60, 9060 + round * 60));
    Follow(frozen.get(), copy_.get());
    table_->CommitSave();
    EXPECT_EQ(ExportAll(*copy_), then) << round;
  }
  Save();
}

TEST_P(TableSaves, IsAsItWasWhateverComesBetweenReads) {
  std::mt19937_64 random(11);
  for (int save = 0; save < 30; ++save) {
    for (int i = 0; i < 8; ++i) ChangeAny(table_.get(), &random);
    auto frozen = Frozen(table_.get(), SaveScope::kChanges);
    const Rows then = ExportAll(*table_);
    const bool fails = save % 3 == 1;
    const auto nothing = TableOf(ConfigOf(GetParam()));
    Table* const copy = fails ? nothing.get() : copy_.get();
    Ids erased;
    while (frozen->ReadErased(&erased)) ChangeAny(table_.get(), &random);
    copy->Remove(erased);
    for (bool more = true; more;) {
      RawRows rows;
      const auto read = frozen->Read(random() % 60, &rows);
      ASSERT_TRUE(read.ok());
      more = *read;
      copy->Restore(rows);
      ChangeAny(table_.get(), &random);
    }
    frozen.reset();
    if (fails) continue;
    table_->CommitSave();
    ASSERT_EQ(ExportAll(*copy), then) << "save " << save;
  }
  Save();
}

TEST_P(TableSaves, ThreadsThatUpdateLoseNothing) {
  std::atomic<int> steps{0};
  std::atomic<bool> ended{false};
  RunInThreads([&](int thread) {
    if (thread == 0) {
      for (int save = 0; save < 10; ++save) {
        const int before = steps;
        while (steps < before + 5) std::this_thread::yield();
        Follow(Frozen(table_.get(), SaveScope::kChanges).get(), copy_.get());
        if (save % 3 != 2) table_->CommitSave();
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
  Save();
}

INSTANTIATE_TEST_SUITE_P(Dtypes, TableSaves,
                         ::testing::Values("float32", "bfloat16", "int8"));

TEST(TableSavesOnce, AreNotKnownBeforeASaveIsCommitted) {
  const auto table = TableOf(ConfigOf());
  Look(table.get(), Range(0, 10));
  table->CommitSave();
  EXPECT_FALSE(table->was_saved());
  EXPECT_EQ(table->FreezeToSave(SaveScope::kChanges).status().code(),
            Code::kFailedPrecondition);
  Frozen(table.get(), SaveScope::kWhole);
  EXPECT_FALSE(table->was_saved());
  EXPECT_EQ(table->FreezeToSave(SaveScope::kChanges).status().code(),
            Code::kFailedPrecondition);
  table->CommitSave();
  EXPECT_TRUE(table->was_saved());
  EXPECT_TRUE(table->FreezeToSave(SaveScope::kChanges).ok());
}

TEST(TableSavesOnce, ASaveThatIsRefusedTakesNoChanges) {
  const auto table = TableOf(ConfigOf());
  const auto copy = TableOf(ConfigOf());
  Look(table.get(), Range(0, 10));
  Follow(Frozen(table.get(), SaveScope::kWhole).get(), copy.get());
  table->CommitSave();
  table->Update(Ids{1}, Floats(4, 1.0f), 0.1f);
  auto frozen = Frozen(table.get(), SaveScope::kChanges);
  table->Update(Ids{2}, Floats(4, 1.0f), 0.1f);
  EXPECT_EQ(table->FreezeToSave(SaveScope::kChanges).status().code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(Follow(frozen.get(), copy.get()).set, std::set<int64_t>{1});
  frozen.reset();
  table->CommitSave();
  frozen = Frozen(table.get(), SaveScope::kChanges);
  EXPECT_EQ(Follow(frozen.get(), copy.get()).set, std::set<int64_t>{2});
}

TEST(TableSavesOnce, ATableThatIsNotSavedPaysNothing) {
  const auto table = TableOf(ConfigOf());
  Look(table.get(), Range(0, 100000));
  const uint64_t before = table->Stats().bytes;
  Frozen(table.get(), SaveScope::kWhole);
  table->CommitSave();
  table->Update(Range(0, 100000), Floats(400000, 1.0f), 0.1f);
  const uint64_t noted = table->Stats().bytes - before;
  EXPECT_GT(noted, 100000u / 8);
  EXPECT_LT(noted, 100000u / 2);
}

TEST(TableSavesOnce, WhatEvictionTakesIsErased) {
  TableConfig config = ConfigOf();
  config.eviction = SpecOf("lru");
  config.capacity = SpecOf("rows(count=1000)");
  const auto table = TableOf(config);
  const auto copy = TableOf(ConfigOf());
  Look(table.get(), Range(0, 1000));
  Follow(Frozen(table.get(), SaveScope::kWhole).get(), TableOf(config).get());
  table->CommitSave();
  Look(table.get(), Range(1000, 1500));
  const Changes changes = Follow(Frozen(table.get(), SaveScope::kChanges).get(),
                                 TableOf(config).get());
  EXPECT_EQ(changes.set.size(), 500u);
  EXPECT_EQ(changes.erased.size(), 500u);
  for (const int64_t id : ExportedIds(*table)) {
    EXPECT_EQ(changes.erased.count(id), 0u);
  }
}

TEST(TableSavesOnce, WhatExpiredAndWasSweptIsErased) {
  TableConfig config = ConfigOf();
  config.eviction = SpecOf("ttl(steps=5)");
  const auto table = TableOf(config);
  Look(table.get(), Range(0, 100));
  Follow(Frozen(table.get(), SaveScope::kWhole).get(), TableOf(config).get());
  table->CommitSave();
  for (int step = 0; step < 10; ++step) Look(table.get(), {1});
  Look(table.get(), {7});  // Expired, and begun anew.
  const Changes changes = Follow(Frozen(table.get(), SaveScope::kChanges).get(),
                                 TableOf(config).get());
  EXPECT_EQ(changes.set, std::set<int64_t>{7});
  EXPECT_EQ(changes.erased.size(), 98u);
}

}  // namespace
}  // namespace persia
