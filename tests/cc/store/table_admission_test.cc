#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <string>

#include "tests/cc/store/make_config.h"
#include "tests/cc/store/table_calls.h"

namespace persia {
namespace {

TableConfig AdmittingConfig(const std::string& admission) {
  TableConfig config = MakeConfig("t", 2, "uniform", "sgd");
  config.admission = SpecOf(admission);
  config.default_value = 9;
  return config;
}

Floats InitialRows(const Ids& ids) {
  return Look(TableOf(AdmittingConfig("always")).get(), ids);
}

TEST(TableAdmission, ARefusedIdGetsItsInitialValueInTraining) {
  const auto table = TableOf(AdmittingConfig("min_count(count=3)"));
  const Ids ids = Range(0, 200);
  EXPECT_EQ(Look(table.get(), ids), InitialRows(ids));
  EXPECT_EQ(table->Stats().rows, 0u);
  EXPECT_EQ(table->Stats().refused, 200u);
  EXPECT_EQ(table->Stats().rows_found, 0u);
}

TEST(TableAdmission, ARefusedIdGetsTheDefaultValueReadOnly) {
  const auto table = TableOf(AdmittingConfig("min_count(count=3)"));
  Look(table.get(), {1});
  EXPECT_EQ(Peek(table.get(), {1}), (Floats{9, 9}));
}

TEST(TableAdmission, LetsAnIdInAtTheNthTrainingLookup) {
  for (const char* admission : {"min_count(count=3)",
                                "bloom_min_count(count=3,expected_ids=100000,"
                                "false_positive_rate=0.0001)"}) {
    const auto table = TableOf(AdmittingConfig(admission));
    const Ids ids = Range(0, 200);
    const Floats initial = InitialRows(ids);
    for (const uint64_t rows : {0, 0, 200, 200}) {
      EXPECT_EQ(Look(table.get(), ids), initial);
      EXPECT_EQ(table->Stats().rows, rows) << admission;
    }
    EXPECT_EQ(table->Stats().refused, 400u) << admission;
  }
}

TEST(TableAdmission, ReadOnlyLookupsDoNotCount) {
  const auto table = TableOf(AdmittingConfig("min_count(count=2)"));
  for (int times = 0; times < 10; ++times) Peek(table.get(), {1});
  Look(table.get(), {1});
  EXPECT_EQ(table->Stats().rows, 0u);
  EXPECT_EQ(table->Stats().refused, 1u);
}

TEST(TableAdmission, CountsEachPlaceOfARepeatedId) {
  const auto table = TableOf(AdmittingConfig("min_count(count=3)"));
  const Floats initial = InitialRows({5, 5, 5, 5});
  EXPECT_EQ(Look(table.get(), {5, 5, 5, 5}), initial);
  EXPECT_EQ(table->Stats().rows, 1u);
  EXPECT_EQ(table->Stats().refused, 2u);
}

TEST(TableAdmission, ByProbabilityHoldsItsShareOfTheIds) {
  const auto table = TableOf(AdmittingConfig("probability(p=0.25)"));
  for (int times = 0; times < 3; ++times) Look(table.get(), Range(0, 20000));
  const uint64_t rows = table->Stats().rows;
  EXPECT_NEAR(static_cast<double>(rows), 5000, 250);
  EXPECT_EQ(table->Stats().refused, 3 * (20000 - rows));
}

TEST(TableAdmission, SkipsARefusedIdsGradientAlone) {
  const auto table = TableOf(AdmittingConfig("min_count(count=2)"));
  Look(table.get(), {1, 3});
  const Floats before = Look(table.get(), {1, 2, 3});
  const UpdateCounts counts =
      table->Update(Ids{1, 2, 3}, Floats{1, 1, 20, 20, 4, 4}, 1.0f);
  EXPECT_EQ(counts.applied, 2u);
  EXPECT_EQ(counts.absent, 1u);
  EXPECT_EQ(Peek(table.get(), {1, 2, 3}),
            (Floats{before[0] - 1, before[1] - 1, 9, 9, before[4] - 4,
                    before[5] - 4}));
}

TEST(TableAdmission, AnEvictedIdWaitsAgain) {
  TableConfig config = AdmittingConfig("min_count(count=2)");
  config.capacity = SpecOf("rows(count=1)");
  config.eviction = SpecOf("lru");
  const auto table = TableOf(config);
  for (int times = 0; times < 2; ++times) Look(table.get(), {1});
  for (int times = 0; times < 2; ++times) Look(table.get(), {2});
  EXPECT_EQ(ExportedIds(*table), Ids{2});
  Look(table.get(), {1});
  EXPECT_EQ(ExportedIds(*table), Ids{2});
  Look(table.get(), {1});
  EXPECT_EQ(ExportedIds(*table), Ids{1});
}

TEST(TableAdmission, TheFiltersMemoryIsCountedInBytes) {
  const auto bytes = [](const char* admission) {
    return static_cast<double>(
        TableOf(AdmittingConfig(admission))->Stats().bytes);
  };
  const double filter = -1e6 * std::log(0.01) / std::pow(std::log(2.0), 2);
  EXPECT_NEAR(bytes("bloom_min_count(count=2,expected_ids=1e6,"
                    "false_positive_rate=0.01)") -
                  bytes("always"),
              filter, 0.001 * filter);
}

// Updates in which some ids have no row, because they were refused, were
// evicted since the lookup, or have expired. Each other row must get its own
// gradient, and no other.
void ExpectEachRowGetsItsGradient(const std::string& capacity,
                                  const std::string& eviction,
                                  const std::string& admission) {
  TableConfig config = MakeConfig("t", 3, "zeros", "sgd");
  config.capacity = SpecOf(capacity);
  config.eviction = SpecOf(eviction);
  config.admission = SpecOf(admission);
  const auto table = TableOf(config);
  std::mt19937_64 random(8);
  uint64_t absent = 0;
  for (int step = 0; step < 300; ++step) {
    Ids ids(64);
    for (int64_t& id : ids) id = static_cast<int64_t>(random() % 700);
    Look(table.get(), ids);
    // Other requests, which come while gradients are computed.
    Ids others(64);
    for (int64_t& id : others) id = static_cast<int64_t>(random() % 700);
    Look(table.get(), others);

    const auto before = ExportAll(*table);
    auto expected = before;
    Floats gradients;
    uint64_t applied = 0;
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto row = expected.find(ids[i]);
      for (int d = 0; d < 3; ++d) {
        // Small whole numbers, so that sums are exact in any order.
        gradients.push_back(static_cast<float>(random() % 100) + 1);
        if (row != expected.end()) row->second.weights[d] -= gradients.back();
      }
      applied += row != expected.end();
    }
    const UpdateCounts counts = table->Update(ids, gradients, 1.0f);
    ASSERT_EQ(counts.applied, applied) << "step " << step;
    ASSERT_EQ(counts.absent, ids.size() - applied);
    ASSERT_EQ(ExportAll(*table), expected) << "step " << step;
    absent += counts.absent;
  }
  EXPECT_GT(absent, 1000u);
  EXPECT_EQ(table->Stats().absent_gradients, absent);
  EXPECT_LT(absent, 300u * 64 * 9 / 10);
}

TEST(TableGradients, FindTheirRowsAmongEvictedAndRefusedOnes) {
  ExpectEachRowGetsItsGradient("rows(count=100)", "lru", "min_count(count=2)");
}

TEST(TableGradients, FindTheirRowsAmongTheLeastOften) {
  ExpectEachRowGetsItsGradient("rows(count=100)", "lfu", "probability(p=0.6)");
}

TEST(TableGradients, FindTheirRowsAmongRefusedOnes) {
  ExpectEachRowGetsItsGradient("unlimited", "never", "probability(p=0.5)");
}

}  // namespace
}  // namespace persia
