#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>

#include "cc/base/memory_meter.h"
#include "cc/store/store.h"
#include "tests/cc/store/make_config.h"
#include "tests/cc/store/table_calls.h"

namespace persia {
namespace {

constexpr uint64_t kLimit = 4 << 20;
constexpr int64_t kStep = 200;

// A table of 256-byte rows whose memory `meter` counts.
std::shared_ptr<Table> MeteredTable(const std::shared_ptr<MemoryMeter>& meter,
                                    const std::string& eviction = "never",
                                    const std::string& admission = "always") {
  TableConfig config = MakeConfig("t", 32, "uniform", "adagrad");
  config.eviction = SpecOf(eviction);
  config.admission = SpecOf(admission);
  if (eviction != "never") config.capacity = SpecOf("rows(count=1000000)");
  auto table = MakeTable(config, nullptr, meter);
  EXPECT_TRUE(table.ok()) << table.status().message();
  return std::move(*table);
}

// Looks new ids up until the limit refuses; returns where the ids begin of
// which not all got a row.
int64_t Fill(Table* table) {
  for (int64_t at = 0;; at += kStep) {
    try {
      Look(table, Range(at, at + kStep));
    } catch (const MemoryLimitReached&) {
      return at;
    }
  }
}

TEST(MemoryLimit, TheMeterCountsWhatStatsShow) {
  const auto meter = std::make_shared<MemoryMeter>();
  {
    const auto table = MeteredTable(meter);
    Look(table.get(), Range(0, 50000));
    const auto shown = static_cast<double>(table->Stats().bytes);
    EXPECT_NEAR(static_cast<double>(meter->used()), shown, 0.02 * shown);
    table->Remove(Range(0, 50000));
  }
  EXPECT_EQ(meter->used(), 0u);
}

// The notes of changes since a save, which are kept until it is committed.
TEST(MemoryLimit, TheMeterCountsWhatChangesTake) {
  const auto meter = std::make_shared<MemoryMeter>();
  {
    const auto table = MeteredTable(meter);
    Look(table.get(), Range(0, 50000));
    for (int save = 0; save < 3; ++save) {
      const uint64_t used = meter->used();
      const uint64_t shown = table->Stats().bytes;
      (void)table->FreezeToSave(SaveScope::kWhole);  // As if written at once.
      table->Remove(Range(save * 10000, (save + 1) * 10000));
      Look(table.get(), Range(save * 10000, save * 10000 + 5000));
      EXPECT_GT(meter->used(), used + 5000 * sizeof(int64_t));
      // Directories of indexes, which are small, are not counted.
      EXPECT_NEAR(static_cast<double>(meter->used() - used),
                  static_cast<double>(table->Stats().bytes - shown), 4096);
      if (save > 0) table->CommitSave();  // The first save failed.
    }
  }
  EXPECT_EQ(meter->used(), 0u);
}

TEST(MemoryLimit, NotesOfChangesAreMadeAtTheLimitToo) {
  const auto meter = std::make_shared<MemoryMeter>(kLimit);
  const auto table = MeteredTable(meter);
  const int64_t end = Fill(table.get());
  const size_t held = table->Stats().rows;
  const auto frozen = table->FreezeToSave(SaveScope::kWhole);
  ASSERT_TRUE(frozen.ok());
  const Floats gradients(static_cast<size_t>(end) * 32, 0.5f);
  table->Update(Range(0, end), gradients, 0.1f);
  table->Remove(Range(0, end));
  EXPECT_FALSE(table->lost_changes());
  // Copies of rows that are frozen and not yet written are made at the limit
  // too.
  RawRows rows;
  bool more = true;
  while (more) {
    const auto read = (*frozen)->Read(1000, &rows);
    ASSERT_TRUE(read.ok()) << read.status().message();
    more = *read;
  }
  EXPECT_EQ(rows.ids.size(), held);
}

TEST(MemoryLimit, RefusesNewRowsAndNothingElse) {
  const auto meter = std::make_shared<MemoryMeter>(kLimit);
  const auto table = MeteredTable(meter);
  const int64_t end = Fill(table.get());
  EXPECT_GT(end, 8000);
  EXPECT_LT(end, 16384);  // 256 bytes each.
  EXPECT_LE(meter->used(), kLimit + kLimit / 10);

  const Ids held = Range(0, end);
  EXPECT_EQ(Look(table.get(), held), Peek(table.get(), held));
  const Floats gradients(held.size() * 32, 0.5f);
  EXPECT_EQ(table->Update(held, gradients, 0.1f).applied, held.size());
  EXPECT_GE(ExportAll(*table).size(), held.size());
  EXPECT_THROW(Look(table.get(), Range(end, end + 100000)), MemoryLimitReached);
  EXPECT_THROW(
      table->Assign(Range(end, end + 100000), Floats(100000 * 32, 1.0f), {}),
      MemoryLimitReached);
}

// All rows of a table.
RawRows RowsOf(Table* table) {
  RawRows rows;
  const auto frozen = table->Freeze();
  EXPECT_TRUE(frozen.ok());
  while (*(*frozen)->Read(1000, &rows)) {
  }
  return rows;
}

TEST(MemoryLimit, RowsThatArePlacedAreRefusedToo) {
  const auto from = MeteredTable(nullptr);
  Look(from.get(), Range(-50000, 0));
  const RawRows rows = RowsOf(from.get());
  const auto meter = std::make_shared<MemoryMeter>(kLimit);
  const auto table = MeteredTable(meter);
  RowChanges changes;
  EXPECT_THROW(table->Place(rows, &changes), MemoryLimitReached);
  const auto held = ExportAll(*table);
  EXPECT_EQ(changes.size(), held.size());
  EXPECT_EQ(table->Stats().rows, held.size());
  const auto expected = ExportAll(*from);
  for (const auto& [id, row] : held) {
    ASSERT_TRUE(expected.at(id) == row) << id;
  }
}

TEST(MemoryLimit, ATableThatEvictsMakesRoomForRowsThatArePlaced) {
  const auto from = MeteredTable(nullptr, "lru");
  Look(from.get(), Range(-4000, 0));
  const RawRows rows = RowsOf(from.get());
  const auto meter = std::make_shared<MemoryMeter>(kLimit);
  const auto table = MeteredTable(meter, "lru");
  // Some of the rows are there already, and may be evicted meanwhile.
  Look(table.get(), Range(-2000, 0));
  for (int64_t at = 0; at < 100000; at += kStep) {
    Look(table.get(), Range(at, at + kStep));
    if (at % 1000 == 0) Look(table.get(), Range(-2000, 0));
  }
  std::map<int64_t, bool> there;
  for (const auto& [id, row] : ExportAll(*table)) there[id] = true;
  RowChanges changes;
  table->Place(rows, &changes);
  for (const RowChange& change : changes) there[change.id] = change.created;
  size_t removed = 0;
  for (const RowChange& change : changes) removed += change.created ? 0 : 1;
  EXPECT_GT(removed, 0u);
  const auto held = ExportAll(*table);
  for (const auto& [id, is_there] : there) {
    ASSERT_EQ(held.count(id), is_there ? 1u : 0u) << id;
  }
  EXPECT_EQ(table->Stats().rows, held.size());
  EXPECT_LE(meter->used(), kLimit + kLimit / 20);
}

TEST(MemoryLimit, RowsOfARefusedLookupAreWhole) {
  const auto meter = std::make_shared<MemoryMeter>(kLimit);
  const auto table = MeteredTable(meter);
  const int64_t end = Fill(table.get());
  const auto unlimited = MeteredTable(nullptr);
  Look(unlimited.get(), Range(0, end + kStep));
  const auto expected = ExportAll(*unlimited);
  const auto held = ExportAll(*table);
  EXPECT_EQ(table->Stats().rows, held.size());
  for (const auto& [id, row] : held) {
    ASSERT_TRUE(expected.at(id) == row) << id;
  }
}

TEST(MemoryLimit, RemovedRowsMakeRoom) {
  const auto meter = std::make_shared<MemoryMeter>(kLimit);
  const auto table = MeteredTable(meter);
  const int64_t end = Fill(table.get());
  EXPECT_EQ(table->Remove(Range(0, 4000)), 4000u);
  Look(table.get(), Range(end, end + 1000));
}

TEST(MemoryLimit, ATableThatEvictsGoesOn) {
  for (const char* policy : {"lru", "lfu"}) {
    const auto meter = std::make_shared<MemoryMeter>(kLimit);
    const auto table = MeteredTable(meter, policy);
    for (int64_t at = 0; at < 200000; at += kStep) {
      Look(table.get(), Range(at, at + kStep));
      ASSERT_LE(meter->used(), kLimit + kLimit / 20) << policy << " at " << at;
    }
    const TableStats stats = table->Stats();
    EXPECT_GT(stats.rows, 7000u) << policy;
    EXPECT_EQ(stats.rows + stats.evictions, 200000u) << policy;
    EXPECT_EQ(stats.rows, ExportAll(*table).size()) << policy;
  }
}

TEST(MemoryLimit, WhatIsUsedLeastGoesFirst) {
  const auto meter = std::make_shared<MemoryMeter>(kLimit);
  const auto table = MeteredTable(meter, "lru");
  const Ids hot = Range(-500, 0);
  for (int64_t at = 0; at < 100000; at += kStep) {
    Look(table.get(), hot);
    Look(table.get(), Range(at, at + kStep));
  }
  const auto held = ExportAll(*table);
  for (const int64_t id : hot) EXPECT_EQ(held.count(id), 1u) << id;
}

TEST(MemoryLimit, AnEvictingTableWithNothingToGiveIsRefused) {
  const auto meter = std::make_shared<MemoryMeter>(kLimit);
  const auto full = MeteredTable(meter);
  const auto empty = MeteredTable(meter, "lru");
  Fill(full.get());
  EXPECT_THROW(Look(empty.get(), Range(0, 100000)), MemoryLimitReached);
}

TEST(MemoryLimit, IdsThatWaitAreNotCountedThen) {
  const auto meter = std::make_shared<MemoryMeter>(kLimit);
  const auto table = MeteredTable(meter, "never", "min_count(count=2)");
  for (int64_t at = 0; at < 1000000; at += 10000) {
    Look(table.get(), Range(at, at + 10000));
  }
  EXPECT_LE(meter->used(), kLimit);
  EXPECT_EQ(table->Stats().rows, 0u);
}

TEST(MemoryLimit, AFilterMustHaveRoom) {
  const auto meter = std::make_shared<MemoryMeter>(kLimit);
  EXPECT_THROW(MeteredTable(meter, "never",
                            "bloom_min_count(count=2,expected_ids=100000000,"
                            "false_positive_rate=0.01)"),
               MemoryLimitReached);
  EXPECT_EQ(meter->used(), 0u);
}

TEST(StoreLimits, TablesHaveAMaximum) {
  Store store;
  store.SetLimits({0, 2});
  ASSERT_TRUE(store.CreateTable(MakeConfig("a", 2)).ok());
  ASSERT_TRUE(store.CreateTable(MakeConfig("b", 2)).ok());
  const Status status = store.CreateTable(MakeConfig("c", 2)).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_EQ(status.message(),
            "table \"c\" would exceed the limit of 2 tables on this shard: "
            "raise --max-tables");
  EXPECT_TRUE(store.CreateTable(MakeConfig("b", 2)).ok()) << "it is there";
}

// Also tables without rows, of which a program may make any number.
TEST(StoreLimits, TablesAreMadeAsLongAsThereIsMemory) {
  Store store;
  store.SetLimits({kLimit, 0});
  int tables = 0;
  Status status;
  while (status.ok() && tables < 1000) {
    const TableConfig config = MakeConfig("t" + std::to_string(tables), 32);
    EXPECT_EQ(store.CheckRoomFor(config).ok(),
              store.meter()->used() + 60 * 1024 <= kLimit);
    status = store.CreateTable(config).status();
    if (status.ok()) ++tables;
  }
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_NE(status.message().find("leaves no room for another table"),
            std::string::npos)
      << status.message();
  EXPECT_GT(tables, 60);
  EXPECT_LT(tables, 80);
  EXPECT_LE(store.meter()->used(), kLimit);
  // A cleared table can be opened again, and a dropped one makes room for
  // another.
  EXPECT_TRUE(store.Drop(HashName("t0"), 1, /*stays=*/true).ok());
  EXPECT_TRUE(store.CreateTable(MakeConfig("t0", 32)).ok()) << "it is there";
  EXPECT_TRUE(store.Drop(HashName("t1"), 2, /*stays=*/false).ok());
  EXPECT_TRUE(store.CreateTable(MakeConfig("more", 32)).ok());
}

TEST(StoreLimits, AllTablesShareTheMemory) {
  Store store;
  store.SetLimits({kLimit, 0});
  for (const char* name : {"a", "b"}) {
    ASSERT_TRUE(store.CreateTable(MakeConfig(name, 32)).ok());
  }
  Table* const a = *store.Find(HashName("a"));
  Table* const b = *store.Find(HashName("b"));
  const int64_t end = Fill(a);
  EXPECT_THROW(Look(b, Range(0, end)), MemoryLimitReached);
}

}  // namespace
}  // namespace persia
