#include "cc/store/table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "tests/cc/store/make_config.h"
#include "tests/cc/store/table_calls.h"

namespace persia {
namespace {

constexpr int64_t kMinId = std::numeric_limits<int64_t>::min();
constexpr int64_t kMaxId = std::numeric_limits<int64_t>::max();

// Rows start at 0 and fall by a gradient times the learning rate.
std::shared_ptr<Table> ZerosTable(uint32_t dim) {
  return TableOf(MakeConfig("t", dim, "zeros", "sgd"));
}

TEST(TableLookup, CreatesRowsThatStay) {
  const auto table = TableOf(MakeConfig("t", 4));
  const Floats created = Look(table.get(), {1, 2, 3});
  EXPECT_EQ(Look(table.get(), {1, 2, 3}), created);
  EXPECT_EQ(Look(table.get(), {1, 2, 3}, /*read_only=*/true), created);
  EXPECT_EQ(table->Stats().rows, 3u);
}

TEST(TableLookup, GivesADuplicateTheSameRow) {
  const auto table = TableOf(MakeConfig("t", 2));
  const Floats rows = Look(table.get(), {5, 6, 5, 5});
  const Floats first(rows.begin(), rows.begin() + 2);
  EXPECT_EQ(Floats(rows.begin() + 4, rows.begin() + 6), first);
  EXPECT_EQ(Floats(rows.begin() + 6, rows.end()), first);
  EXPECT_NE(Floats(rows.begin() + 2, rows.begin() + 4), first);
  EXPECT_EQ(table->Stats().rows, 2u);
}

TEST(TableLookup, ValuesDependNeitherOnOrderNorOnTheTableObject) {
  const Floats one = Look(TableOf(MakeConfig("t", 1)).get(), {1, 2, 3});
  const Floats other = Look(TableOf(MakeConfig("t", 1)).get(), {3, 2, 1});
  EXPECT_EQ(one, Floats(other.rbegin(), other.rend()));
}

TEST(TableLookup, ValuesDependOnTheNameAndTheSeed) {
  TableConfig config = MakeConfig("t", 4);
  const Floats row = Look(TableOf(config).get(), {1});
  config.seed = 1;
  EXPECT_NE(Look(TableOf(config).get(), {1}), row);
  EXPECT_NE(Look(TableOf(MakeConfig("u", 4)).get(), {1}), row);
}

TEST(TableLookup, CreatesNothingWhenReadOnly) {
  TableConfig config = MakeConfig("t", 2, "ones");
  config.default_value = 0.5f;
  const auto table = TableOf(config);
  Look(table.get(), {2});
  const uint64_t bytes = table->Stats().bytes;
  EXPECT_EQ(Look(table.get(), {1, 2, 3}, /*read_only=*/true),
            (Floats{0.5f, 0.5f, 1, 1, 0.5f, 0.5f}));
  EXPECT_EQ(table->Stats().rows, 1u);
  EXPECT_EQ(table->Stats().bytes, bytes);
}

TEST(TableLookup, GivesAbsentIdsTheirInitialValuesWithoutMakingRows) {
  for (const char* initializer : {"uniform", "normal", "glorot_uniform"}) {
    const auto table = TableOf(MakeConfig("t", 4, initializer));
    Look(table.get(), {2});
    const Floats initial = Peek(table.get(), {1, 2, 3}, AbsentRows::kInitial);
    EXPECT_EQ(table->Stats().rows, 1u);
    EXPECT_EQ(Look(table.get(), {1, 2, 3}), initial);
  }
}

TEST(TableLookup, MarksAbsentIdsAlone) {
  const auto table = TableOf(MakeConfig("t", 2, "ones"));
  Look(table.get(), {2});
  const Floats rows = Peek(table.get(), {1, 2, 1}, AbsentRows::kMarked);
  for (const size_t i : {0, 1, 4, 5}) EXPECT_TRUE(std::isnan(rows[i])) << i;
  EXPECT_EQ(Floats(rows.begin() + 2, rows.begin() + 4), (Floats{1, 1}));
  EXPECT_EQ(table->Stats().rows, 1u);
}

TEST(TableLookup, WhatAbsentIdsGetIsNothingToATrainingLookup) {
  const auto table = TableOf(MakeConfig("t", 1, "ones"));
  Floats rows(1);
  table->Lookup(Ids{1}, /*read_only=*/false, rows, /*changes=*/nullptr,
                AbsentRows::kMarked);
  EXPECT_EQ(rows, Floats{1});
  EXPECT_EQ(table->Stats().rows, 1u);
}

TEST(TableLookup, TakesAnyIdThereIs) {
  const auto table = ZerosTable(1);
  const Ids ids = {kMinId, -1, 0, 1, kMaxId};
  Look(table.get(), ids);
  table->Update(ids, Floats{1, 2, 3, 4, 5}, 1.0f);
  EXPECT_EQ(Look(table.get(), ids), (Floats{-1, -2, -3, -4, -5}));
  EXPECT_EQ(table->Stats().rows, 5u);
}

TEST(TableLookup, TakesNoIds) {
  const auto table = ZerosTable(3);
  EXPECT_EQ(Look(table.get(), {}), Floats());
  EXPECT_EQ(table->Update({}, {}, 1.0f).applied, 0u);
}

TEST(TableLookup, TakesTheWidestRow) {
  const auto table = TableOf(MakeConfig("t", kMaxDim, "ones", "adam"));
  const Floats rows = Look(table.get(), {1, 2});
  EXPECT_EQ(rows, Floats(2 * kMaxDim, 1.0f));
}

TEST(TableUpdate, GivesEachRowItsGradient) {
  const auto table = ZerosTable(2);
  Look(table.get(), {10, 20, 30});
  const UpdateCounts counts =
      table->Update(Ids{30, 10}, Floats{1, 2, 3, 4}, 0.5f);
  EXPECT_EQ(counts.applied, 2u);
  EXPECT_EQ(Look(table.get(), {10, 20, 30}),
            (Floats{-1.5f, -2, 0, 0, -0.5f, -1}));
}

TEST(TableUpdate, AnAbsentIdInTheMiddleDoesNotShiftLaterGradients) {
  const auto table = ZerosTable(2);
  Look(table.get(), {1, 3});
  const UpdateCounts counts =
      table->Update(Ids{1, 2, 3}, Floats{1, 1, 20, 20, 300, 300}, 1.0f);
  EXPECT_EQ(counts.applied, 2u);
  EXPECT_EQ(counts.absent, 1u);
  EXPECT_EQ(Look(table.get(), {1, 2, 3}, /*read_only=*/true),
            (Floats{-1, -1, 0, 0, -300, -300}));
  EXPECT_EQ(table->Stats().rows, 2u);
}

TEST(TableUpdate, AbsentIdsEverywhereDoNotShiftOthersGradients) {
  const auto table = ZerosTable(1);
  const Ids ids = Range(0, 1000);
  Ids present;
  for (const int64_t id : ids) {
    if (id % 3 == 0) present.push_back(id);
  }
  Look(table.get(), present);
  const Floats gradients(ids.begin(), ids.end());
  EXPECT_EQ(table->Update(ids, gradients, 1.0f).absent,
            ids.size() - present.size());
  const Floats rows = Look(table.get(), present);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i], -static_cast<float>(present[i]));
  }
}

TEST(TableUpdate, SkipsNonFiniteGradientsAndAppliesTheirNeighbours) {
  const auto table = ZerosTable(2);
  Look(table.get(), {1, 2, 3, 4});
  const UpdateCounts counts = table->Update(
      Ids{1, 2, 3, 4}, Floats{1, 1, 2, NAN, -INFINITY, 3, 4, 4}, 1.0f);
  EXPECT_EQ(counts.applied, 2u);
  EXPECT_EQ(counts.nonfinite, 2u);
  EXPECT_EQ(Look(table.get(), {1, 2, 3, 4}),
            (Floats{-1, -1, 0, 0, 0, 0, -4, -4}));
}

TEST(TableUpdate, ASkippedGradientLeavesTheOptimizerStateAlone) {
  const auto once = TableOf(MakeConfig("t", 1, "zeros", "adam"));
  const auto with_nan = TableOf(MakeConfig("t", 1, "zeros", "adam"));
  for (Table* table : {once.get(), with_nan.get()}) Look(table, {1});
  with_nan->Update(Ids{1}, Floats{NAN}, 0.1f);
  once->Update(Ids{1}, Floats{1}, 0.1f);
  with_nan->Update(Ids{1}, Floats{1}, 0.1f);
  EXPECT_EQ(Look(with_nan.get(), {1}), Look(once.get(), {1}));
}

TEST(TableUpdate, KeepsEachRowsOptimizerState) {
  const auto table = TableOf(MakeConfig(
      "t", 1, "zeros", "adagrad(initial_accumulator_value=0,epsilon=1e-12)"));
  Look(table.get(), {1, 2});
  table->Update(Ids{1}, Floats{3}, 1.0f);        // Sum of squares: 9.
  table->Update(Ids{1, 2}, Floats{4, 4}, 1.0f);  // 25 and 16.
  const Floats rows = Look(table.get(), {1, 2});
  EXPECT_FLOAT_EQ(rows[0], -1.8f);
  EXPECT_FLOAT_EQ(rows[1], -1.0f);
}

TEST(TableUpdate, AppliesARepeatedIdOnceForEachPlace) {
  const auto table = ZerosTable(1);
  Look(table.get(), {1});
  EXPECT_EQ(table->Update(Ids{1, 1}, Floats{1, 2}, 1.0f).applied, 2u);
  EXPECT_EQ(Look(table.get(), {1}), Floats{-3});
}

TEST(Table, KeepsEveryRowWhileItGrows) {
  constexpr int64_t kRows = 120000, kBatch = 5000;
  const auto table = TableOf(MakeConfig("t", 3, "zeros", "adagrad"));
  for (int64_t begin = 0; begin < kRows; begin += kBatch) {
    const Ids ids = Range(begin, begin + kBatch);
    Look(table.get(), ids);
    // The gradient depends on the id, so that each row can be recognised.
    Floats gradients;
    for (const int64_t id : ids) gradients.insert(gradients.end(), 3, id % 7);
    table->Update(ids, gradients, 1.0f);
  }
  EXPECT_EQ(table->Stats().rows, uint64_t{kRows});
  const Floats rows = Look(table.get(), Range(0, kRows), /*read_only=*/true);
  for (int64_t id = 0; id < kRows; ++id) {
    const auto g = static_cast<float>(id % 7);
    const float expected = -g / std::sqrt(0.1f + g * g + 1e-7f);
    ASSERT_FLOAT_EQ(rows[id * 3], expected) << id;
    ASSERT_FLOAT_EQ(rows[id * 3 + 2], expected) << id;
  }
}

TEST(TableStats, CountsWhatHappened) {
  const auto table = ZerosTable(2);
  Look(table.get(), {1, 2, 2});
  Look(table.get(), {9}, /*read_only=*/true);
  table->Update(Ids{1, 2, 9}, Floats{1, 1, NAN, 1, 1, 1}, 1.0f);
  const TableStats stats = table->Stats();
  EXPECT_EQ(stats.name, "t");
  EXPECT_EQ(stats.dim, 2u);
  EXPECT_EQ(stats.rows, 2u);
  EXPECT_EQ(stats.rows_looked_up, 4u);
  EXPECT_EQ(stats.rows_found, 1u);  // The repeated 2.
  EXPECT_EQ(stats.rows_updated, 1u);
  EXPECT_EQ(stats.nonfinite_gradients, 1u);
  EXPECT_EQ(stats.absent_gradients, 1u);
}

TEST(TableStats, ATableWithoutRowsIsSmall) {
  const TableStats stats = ZerosTable(1000)->Stats();
  EXPECT_EQ(stats.rows, 0u);
  EXPECT_LT(stats.bytes, 65536u);
}

TEST(TableStats, CountsRowsStateAndIndexInBytes) {
  constexpr uint64_t kRows = 50000, kDim = 16;
  const auto table = TableOf(MakeConfig("t", kDim, "zeros", "adagrad"));
  Look(table.get(), Range(0, kRows));
  const uint64_t rows_bytes = kRows * 2 * kDim * sizeof(float);
  const uint64_t least_index = kRows * sizeof(int64_t);
  EXPECT_GE(table->Stats().bytes, rows_bytes + least_index);
  EXPECT_LE(table->Stats().bytes, 2 * (rows_bytes + least_index));
}

TEST(TableThreads, UpdatesOfOneRowAllCount) {
  constexpr int kSteps = 200;
  const auto table = ZerosTable(8);
  const Ids ids = Range(0, 300);
  Look(table.get(), ids);
  RunInThreads([&](int) {
    const Floats gradients(ids.size() * 8, 1.0f);
    for (int step = 0; step < kSteps; ++step) {
      table->Update(ids, gradients, 1.0f);
    }
  });
  EXPECT_EQ(Look(table.get(), ids), Floats(ids.size() * 8, -4.0f * kSteps));
  EXPECT_EQ(table->Stats().rows_updated, 4u * kSteps * ids.size());
}

TEST(TableThreads, ALookupSeesNoRowInTheMiddleOfAnUpdate) {
  constexpr uint32_t kDim = 64;
  const auto table = ZerosTable(kDim);
  const Ids ids = Range(0, 100);
  Look(table.get(), ids);
  RunInThreads([&](int thread) {
    const Floats gradients(ids.size() * kDim, 1.0f);
    for (int step = 0; step < 100; ++step) {
      if (thread % 2 == 0) {
        table->Update(ids, gradients, 1.0f);
        continue;
      }
      const Floats rows = Look(table.get(), ids, /*read_only=*/true);
      for (size_t i = 0; i < rows.size(); ++i) {
        ASSERT_EQ(rows[i], rows[i - i % kDim]) << "row " << i / kDim;
      }
    }
  });
}

TEST(TableThreads, CreateEachRowOnce) {
  constexpr int64_t kRows = 20000, kBatch = 1000;
  const auto table = TableOf(MakeConfig("t", 4, "normal", "adam"));
  RunInThreads([&](int thread) {
    // Threads start at different places, and all meet all ids.
    for (int64_t step = 0; step < kRows / kBatch; ++step) {
      const int64_t begin = (step + 5 * thread) * kBatch % kRows;
      const Ids ids = Range(begin, begin + kBatch);
      Look(table.get(), ids);
      table->Update(ids, Floats(ids.size() * 4, 0.0f), 1.0f);
    }
  });
  EXPECT_EQ(table->Stats().rows, uint64_t{kRows});
  const auto fresh = TableOf(MakeConfig("t", 4, "normal", "adam"));
  EXPECT_EQ(Look(table.get(), Range(0, kRows)),
            Look(fresh.get(), Range(0, kRows)));
}

TEST(MakeTable, RefusesBadSettings) {
  const auto table = MakeTable(MakeConfig("t", 0));
  EXPECT_EQ(table.status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace persia
