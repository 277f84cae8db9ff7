#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "tests/cc/store/make_config.h"
#include "tests/cc/store/table_calls.h"

namespace persia {
namespace {

std::shared_ptr<Table> TableWith(uint32_t dim, const std::string& optimizer) {
  return TableOf(MakeConfig("t", dim, "uniform", optimizer));
}

TEST(TableAssign, SetsWeightsAndState) {
  const auto table = TableWith(2, "adagrad");
  Look(table.get(), {1});
  table->Assign(Ids{1, 2}, Floats{1, 2, 3, 4}, Floats{5, 6, 7, 8});
  const std::map<int64_t, TableRow> expected = {{1, {{1, 2}, {5, 6}}},
                                                {2, {{3, 4}, {7, 8}}}};
  EXPECT_EQ(ExportAll(*table), expected);
}

TEST(TableAssign, WithoutStateGivesANewRows) {
  const auto table = TableWith(2, "adagrad(initial_accumulator_value=0.25)");
  table->Assign(Ids{1}, Floats{1, 2}, Floats{5, 6});
  table->Assign(Ids{1, 2}, Floats{3, 4, 5, 6}, {});
  const std::map<int64_t, TableRow> expected = {{1, {{3, 4}, {0.25f, 0.25f}}},
                                                {2, {{5, 6}, {0.25f, 0.25f}}}};
  EXPECT_EQ(ExportAll(*table), expected);
}

TEST(TableAssign, OfARepeatedIdTakesTheLast) {
  const auto table = TableWith(1, "sgd");
  table->Assign(Ids{4, 4, 4}, Floats{1, 2, 3}, {});
  EXPECT_EQ(Peek(table.get(), {4}), Floats{3});
  EXPECT_EQ(table->Stats().rows, 1u);
}

TEST(TableAssign, TakesNoIds) {
  const auto table = TableWith(3, "adagrad");
  table->Assign({}, {}, {});
  EXPECT_EQ(table->Stats().rows, 0u);
}

TEST(TableAssign, AsksNoAdmission) {
  TableConfig config = MakeConfig("t", 1);
  config.admission = SpecOf("min_count(count=5)");
  const auto table = TableOf(config);
  table->Assign(Ids{1}, Floats{7}, {});
  EXPECT_EQ(Peek(table.get(), {1}), Floats{7});
  EXPECT_EQ(table->Stats().refused, 0u);
}

TEST(TableAssign, TrainsOnFromWhatItSet) {
  const auto table =
      TableWith(1, "adagrad(initial_accumulator_value=0,epsilon=1e-12)");
  table->Assign(Ids{1}, Floats{10}, Floats{9});
  table->Update(Ids{1}, Floats{4}, 1.0f);
  EXPECT_FLOAT_EQ(Peek(table.get(), {1})[0], 10 - 4.0f / 5);
}

TEST(TableRemove, CountsTheRowsThatWereThere) {
  const auto table = TableWith(1, "sgd");
  Look(table.get(), {1, 2, 3});
  EXPECT_EQ(table->Remove(Ids{2, 3, 3, 9}), 2u);
  EXPECT_EQ(ExportedIds(*table), Ids{1});
  EXPECT_EQ(table->Remove({}), 0u);
  EXPECT_EQ(table->Stats().rows, 1u);
}

TEST(TableRemove, ARowThatComesBackIsNew) {
  const auto table = TableWith(2, "adagrad");
  Look(table.get(), {1});
  const auto created = ExportAll(*table);
  table->Update(Ids{1}, Floats{1, 1}, 1.0f);
  ASSERT_NE(ExportAll(*table), created);
  table->Remove(Ids{1});
  Look(table.get(), {1});
  EXPECT_EQ(ExportAll(*table), created);
}

TEST(TableRemove, LeavesTheOthersAlone) {
  const auto table = TableWith(3, "adagrad");
  Look(table.get(), Range(0, 5000));
  auto rows = ExportAll(*table);
  Ids removed;
  for (int64_t id = 0; id < 5000; id += 3) {
    removed.push_back(id);
    rows.erase(id);
  }
  EXPECT_EQ(table->Remove(removed), removed.size());
  EXPECT_EQ(ExportAll(*table), rows);
}

TEST(TableRemove, ItsMemoryIsUsedAgain) {
  const auto table = TableWith(8, "adagrad");
  Look(table.get(), Range(0, 10000));
  const uint64_t bytes = table->Stats().bytes;
  for (int64_t begin = 0; begin < 50000; begin += 10000) {
    table->Remove(Range(begin, begin + 10000));
    Look(table.get(), Range(begin + 10000, begin + 20000));
  }
  EXPECT_LE(table->Stats().bytes, bytes + bytes / 2);
}

TEST(TableExport, OfNoRowsEndsAtOnce) {
  const auto table = TableWith(3, "adagrad");
  RowPage page;
  page.ids = {1, 2, 3};
  EXPECT_EQ(table->Export(Table::kBegin, 10, &page), Table::kEnd);
  EXPECT_TRUE(page.ids.empty());
  EXPECT_TRUE(page.weights.empty());
  EXPECT_TRUE(page.state.empty());
}

TEST(TableExport, AfterTheEndGivesNothing) {
  const auto table = TableWith(3, "adagrad");
  Look(table.get(), {1, 2});
  RowPage page;
  EXPECT_EQ(table->Export(Table::kEnd, 10, &page), Table::kEnd);
  EXPECT_TRUE(page.ids.empty());
}

TEST(TableExport, GivesWhatALookupGives) {
  for (const uint32_t dim : {1u, 7u, 64u}) {
    const auto table = TableWith(dim, "sgd");
    const Ids ids = Range(-500, 500);
    const Floats rows = Look(table.get(), ids);
    const auto exported = ExportAll(*table);
    ASSERT_EQ(exported.size(), ids.size());
    for (size_t i = 0; i < ids.size(); ++i) {
      const float* row = rows.data() + i * dim;
      EXPECT_EQ(exported.at(ids[i]).weights, Floats(row, row + dim));
      EXPECT_TRUE(exported.at(ids[i]).state.empty());
    }
  }
}

// The time and count of use that the table has for each id.
std::map<int64_t, std::pair<uint32_t, uint32_t>> UsesOf(const Table& table,
                                                        UseTime time) {
  RowPage page;
  EXPECT_EQ(table.Export(Table::kBegin, 1000, &page), Table::kEnd);
  EXPECT_EQ(page.use_time, time);
  std::map<int64_t, std::pair<uint32_t, uint32_t>> uses;
  for (size_t i = 0; i < page.uses.size(); ++i) {
    uses[page.ids[i]] = {page.uses[i].age, page.uses[i].count};
  }
  EXPECT_EQ(uses.size(), page.uses.size());
  return uses;
}

TEST(TableExport, TellsOfEachRowsUseInSteps) {
  TableConfig config = MakeConfig("t", 2, "uniform", "sgd");
  config.eviction = SpecOf("ttl(steps=100)");
  const auto table = TableOf(config);
  Look(table.get(), {1, 2});
  Look(table.get(), {2, 3});
  Look(table.get(), {2});
  Peek(table.get(), {1});
  const auto uses = UsesOf(*table, UseTime::kSteps);
  EXPECT_EQ(uses, (std::map<int64_t, std::pair<uint32_t, uint32_t>>{
                      {1, {3, 1}}, {2, {1, 3}}, {3, {2, 1}}}));
}

TEST(TableExport, TellsOfEachRowsUseInSeconds) {
  TableConfig config = MakeConfig("t", 2, "uniform", "sgd");
  config.eviction = SpecOf("ttl(seconds=100)");
  double now = 5;
  const auto table = TableOf(config, [&] { return now; });
  Look(table.get(), {1});
  now = 12;
  Look(table.get(), {2});
  const auto uses = UsesOf(*table, UseTime::kSeconds);
  EXPECT_EQ(uses, (std::map<int64_t, std::pair<uint32_t, uint32_t>>{
                      {1, {7, 1}}, {2, {0, 1}}}));
}

TEST(TableExport, OfATableThatEvictsNothingTellsNoUse) {
  const auto table = TableWith(2, "sgd");
  Look(table.get(), {1, 2});
  EXPECT_TRUE(UsesOf(*table, UseTime::kNone).empty());
}

TEST(TableExport, GivesEachRowOnceInPagesOfAnySize) {
  const auto table = TableWith(2, "adagrad");
  Look(table.get(), Range(0, 20000));
  for (const size_t max_rows : {1, 10, 333, 20000, 1000000}) {
    EXPECT_EQ(ExportAll(*table, max_rows).size(), 20000u) << max_rows;
  }
}

TEST(TableExport, PagesAreAboutAsLargeAsAsked) {
  const auto table = TableWith(2, "sgd");
  Look(table.get(), Range(0, 20000));
  RowPage page;
  uint64_t cursor = Table::kBegin;
  while (cursor != Table::kEnd) {
    cursor = table->Export(cursor, 100, &page);
    if (cursor != Table::kEnd) {
      EXPECT_GE(page.ids.size(), 100u);
    }
    EXPECT_LE(page.ids.size(), 130u);
  }
}

TEST(TableExport, GivesWhatStaysOnceWhileOthersComeAndGo) {
  const auto table = TableWith(2, "adagrad");
  const Ids staying = Range(0, 2000);
  Look(table.get(), staying);
  Look(table.get(), Range(100000, 103000));
  std::map<int64_t, TableRow> rows;
  RowPage page;
  uint64_t cursor = Table::kBegin;
  int64_t step = 0;
  while (cursor != Table::kEnd) {
    cursor = table->Export(cursor, 50, &page);
    AddPage(*table, page, &rows);
    if (step < 60) {
      Look(table.get(), Range(200000 + step * 1000, 201000 + step * 1000));
      table->Remove(Range(100000 + step * 50, 100050 + step * 50));
    }
    ++step;
  }
  EXPECT_GT(step, 60);
  for (const int64_t id : staying) EXPECT_EQ(rows.count(id), 1u) << id;
}

TEST(TableExport, AssignGivesBackEveryDtypeExactly) {
  for (const char* dtype : {"float32", "bfloat16", "float16", "int8"}) {
    for (const uint32_t dim : {1u, 5u, 16u}) {
      TableConfig config = MakeConfig("t", dim, "normal", "adagrad");
      config.row_dtype = SpecOf(dtype);
      const auto table = TableOf(config);
      const Ids ids = Range(0, 300);
      Look(table.get(), ids);
      table->Update(ids, Floats(300 * dim, 0.7f), 0.1f);
      const auto other = TableOf(config);
      RowPage page;
      ASSERT_EQ(table->Export(Table::kBegin, 1000, &page), Table::kEnd);
      other->Assign(page.ids, page.weights, page.state);
      const auto rows = ExportAll(*table);
      const auto copies = ExportAll(*other);
      ASSERT_EQ(copies.size(), rows.size());
      for (const auto& [id, row] : rows) {
        EXPECT_EQ(copies.at(id).state, row.state) << dtype;
        for (uint32_t d = 0; d < dim; ++d) {
          EXPECT_FLOAT_EQ(copies.at(id).weights[d], row.weights[d]) << dtype;
        }
      }
    }
  }
}

// A cursor may be from another table, or from before a restart without rows.
TEST(TableExport, EndsFromAnyCursor) {
  const auto table = TableOf(MakeConfig("t", 1));
  std::mt19937_64 random(3);
  for (const size_t rows : {0u, 1u, 500u}) {
    Look(table.get(), Range(0, static_cast<int64_t>(rows)));
    for (int i = 0; i < 100; ++i) {
      size_t exported = 0;
      RowPage page;
      for (uint64_t at = random() | 1; at != Table::kEnd;
           exported += page.ids.size()) {
        at = table->Export(at, 100, &page);
      }
      ASSERT_LE(exported, rows);
    }
  }
}

TEST(TableExport, GoesOnFromItsOwnCursorsAlone) {
  const auto table = TableOf(MakeConfig("t", 1));
  const auto same = TableOf(MakeConfig("t", 1));
  Look(table.get(), Range(0, 500));
  RowPage page;
  const uint64_t cursor = table->Export(Table::kBegin, 100, &page);
  EXPECT_TRUE(table->CanExportFrom(cursor));
  EXPECT_TRUE(same->CanExportFrom(Table::kBegin));
  EXPECT_TRUE(same->CanExportFrom(Table::kEnd));
  EXPECT_FALSE(same->CanExportFrom(cursor));
}

TEST(TableExport, OmitsExpiredRows) {
  double seconds = 0;
  TableConfig config = MakeConfig("t", 1);
  config.eviction = SpecOf("ttl(seconds=5)");
  const auto table = TableOf(config, [&] { return seconds; });
  Look(table.get(), Range(0, 500));
  seconds = 4;
  Look(table.get(), Range(100, 200));
  seconds = 8;
  EXPECT_EQ(ExportedIds(*table), Range(100, 200));
}

}  // namespace
}  // namespace persia
