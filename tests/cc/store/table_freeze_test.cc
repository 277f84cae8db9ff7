#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <random>
#include <set>
#include <string>

#include "tests/cc/store/freeze_calls.h"

namespace persia {
namespace {

// Reads the frozen rows that are left, into the form of a table's rows.
Rows ReadAll(const TableConfig& config, FrozenRows* frozen,
             size_t page_rows = 100) {
  const auto copy = TableOf(config);
  RawRows rows;
  std::set<int64_t> ids;
  for (bool more = true; more;) {
    rows.clear();
    const auto read = frozen->Read(page_rows, &rows);
    EXPECT_TRUE(read.ok()) << read.status().message();
    more = read.ok() && *read;
    for (const int64_t id : rows.ids) {
      EXPECT_TRUE(ids.insert(id).second) << id << " was read twice";
    }
    EXPECT_EQ(rows.bytes.size(), rows.ids.size() * copy->layout().row_bytes);
    copy->Restore(rows);
  }
  return ExportAll(*copy);
}

std::unique_ptr<FrozenRows> Frozen(Table* table) {
  auto frozen = table->Freeze();
  EXPECT_TRUE(frozen.ok()) << frozen.status().message();
  return std::move(*frozen);
}

class TableFreeze : public ::testing::TestWithParam<std::string> {
 protected:
  TableFreeze() : table_(TableOf(ConfigOf(GetParam()))) {
    Look(table_.get(), Range(0, 3000));
    Step(Range(0, 2000), 1.0f);
  }

  void Step(const Ids& ids, float gradient) {
    table_->Update(ids, Floats(ids.size() * 4, gradient), 0.1f);
  }

  Rows Read(FrozenRows* frozen) {
    return ReadAll(ConfigOf(GetParam()), frozen);
  }

  const std::shared_ptr<Table> table_;
};

TEST_P(TableFreeze, GivesTheRowsWithTheirState) {
  EXPECT_EQ(Read(Frozen(table_.get()).get()), ExportAll(*table_));
}

TEST_P(TableFreeze, KeepsWhatIsUpdated) {
  const Rows before = ExportAll(*table_);
  const auto frozen = Frozen(table_.get());
  Step(Range(1000, 3000), 2.0f);
  Step(Range(1000, 3000), -1.0f);
  EXPECT_EQ(Read(frozen.get()), before);
  EXPECT_NE(ExportAll(*table_), before);
}

TEST_P(TableFreeze, KeepsWhatIsRemovedAndLeavesOutWhatIsNew) {
  const Rows before = ExportAll(*table_);
  const auto frozen = Frozen(table_.get());
  table_->Remove(Range(0, 500));
  Look(table_.get(), Range(3000, 4000));
  EXPECT_EQ(Read(frozen.get()), before);
}

TEST_P(TableFreeze, KeepsWhatIsRemovedAndMadeAgain) {
  const Rows before = ExportAll(*table_);
  const auto frozen = Frozen(table_.get());
  table_->Remove(Range(0, 3000));
  Look(table_.get(), Range(0, 4000));
  table_->Remove(Range(2000, 4000));
  EXPECT_EQ(Read(frozen.get()), before);
}

TEST_P(TableFreeze, KeepsWhatIsAssigned) {
  const Rows before = ExportAll(*table_);
  const auto frozen = Frozen(table_.get());
  const Ids ids = Range(2500, 3500);
  table_->Assign(ids, Floats(ids.size() * 4, 5.0f), {});
  EXPECT_EQ(Read(frozen.get()), before);
}

TEST_P(TableFreeze, AnyChangesBetweenReadsChangeNothing) {
  const Rows before = ExportAll(*table_);
  std::mt19937_64 random(7);
  const auto frozen = Frozen(table_.get());
  const auto copy = TableOf(ConfigOf(GetParam()));
  for (bool more = true; more;) {
    RawRows rows;
    const auto read = frozen->Read(random() % 60, &rows);
    ASSERT_TRUE(read.ok());
    more = *read;
    copy->Restore(rows);
    ChangeAny(table_.get(), &random);
  }
  EXPECT_EQ(ExportAll(*copy), before);
}

// A save and a base of the log may be written at the same time.
TEST_P(TableFreeze, EachReaderGetsTheRowsOfItsOwnMoment) {
  struct Reader {
    std::unique_ptr<FrozenRows> frozen;
    std::shared_ptr<Table> copy;
    Rows expected;
  };
  std::mt19937_64 random(11);
  std::vector<Reader> readers;
  for (int i = 0; i < 4; ++i) {
    readers.push_back({Frozen(table_.get()), TableOf(ConfigOf(GetParam())),
                       ExportAll(*table_)});
    ChangeAny(table_.get(), &random);
  }
  for (size_t left = readers.size(); left > 0;) {
    Reader& reader = readers[random() % readers.size()];
    if (reader.frozen == nullptr) continue;
    RawRows rows;
    const auto read = reader.frozen->Read(random() % 60, &rows);
    ASSERT_TRUE(read.ok());
    reader.copy->Restore(rows);
    ChangeAny(table_.get(), &random);
    if (*read) continue;
    reader.frozen = nullptr;
    --left;
    EXPECT_EQ(ExportAll(*reader.copy), reader.expected);
  }
}

TEST_P(TableFreeze, ThreadsThatUpdateDoNotDisturbTheReader) {
  const Rows before = ExportAll(*table_);
  const auto frozen = Frozen(table_.get());
  Rows read;
  std::atomic<int> steps{0};
  std::atomic<bool> ended{false};
  RunInThreads([&](int thread) {
    if (thread == 0) {
      while (steps < 10) std::this_thread::yield();
      read = ReadAll(ConfigOf(GetParam()), frozen.get(), 20);
      ended = true;
      return;
    }
    std::mt19937_64 random(thread);
    do {
      Ids ids;
      for (int i = 0; i < 100; ++i) {
        ids.push_back(static_cast<int64_t>(random() % 4000));
      }
      Look(table_.get(), ids);
      Step(ids, 0.01f);
      ++steps;
    } while (!ended);
  });
  EXPECT_EQ(read, before);
}

INSTANTIATE_TEST_SUITE_P(Dtypes, TableFreeze,
                         ::testing::Values("float32", "bfloat16", "int8"));

TEST(TableFreezeOnce, ASecondSaveHasToWait) {
  const auto table = TableOf(ConfigOf());
  auto first = table->FreezeToSave(SaveScope::kWhole);
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(table->FreezeToSave(SaveScope::kWhole).status().code(),
            Code::kFailedPrecondition);
  first->reset();
  EXPECT_TRUE(table->FreezeToSave(SaveScope::kWhole).ok());
}

TEST(TableFreezeOnce, AnEmptyTableHasNoRows) {
  const auto table = TableOf(ConfigOf());
  const auto frozen = Frozen(table.get());
  Look(table.get(), Range(0, 100));
  RawRows rows;
  const auto more = frozen->Read(1000, &rows);
  ASSERT_TRUE(more.ok());
  EXPECT_FALSE(*more);
  EXPECT_TRUE(rows.ids.empty());
}

TEST(TableFreezeOnce, WhatIsEvictedIsKept) {
  TableConfig config = ConfigOf();
  config.eviction = SpecOf("lru");
  config.capacity = SpecOf("rows(count=1000)");
  const auto table = TableOf(config);
  Look(table.get(), Range(0, 900));
  const Rows before = ExportAll(*table);
  const auto frozen = Frozen(table.get());
  for (int64_t begin = 1000; begin < 9000; begin += 500) {
    Look(table.get(), Range(begin, begin + 500));
  }
  ASSERT_GT(table->Stats().evictions, 900u);
  EXPECT_EQ(ReadAll(config, frozen.get()), before);
}

TEST(TableRestore, ReplacesRowsThatAreThere) {
  const auto table = TableOf(ConfigOf());
  Look(table.get(), Range(0, 100));
  table->Update(Range(0, 100), Floats(400, 1.0f), 0.1f);
  const Rows before = ExportAll(*table);
  RawRows rows;
  ASSERT_TRUE(Frozen(table.get())->Read(1000, &rows).ok());
  table->Update(Range(50, 100), Floats(200, 1.0f), 0.1f);
  table->Restore(rows);
  EXPECT_EQ(ExportAll(*table), before);
  EXPECT_EQ(table->Stats().rows, 100u);
}

}  // namespace
}  // namespace persia
