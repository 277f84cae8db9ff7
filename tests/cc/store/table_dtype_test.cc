#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <tuple>

#include "tests/cc/store/make_config.h"
#include "tests/cc/store/table_calls.h"

namespace persia {
namespace {

constexpr const char* kDtypes[] = {"float32", "bfloat16", "float16", "int8"};

std::shared_ptr<Table> TableWith(const std::string& dtype, uint32_t dim,
                                 const std::string& initializer,
                                 const std::string& optimizer) {
  TableConfig config = MakeConfig("t", dim, initializer, optimizer);
  config.row_dtype = SpecOf(dtype);
  return TableOf(config);
}

double Mean(const Floats& values) {
  double sum = 0;
  for (const float value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Looks up and updates random ids, the same in every call.
void Train(Table* table, int steps) {
  std::mt19937_64 random(17);
  const size_t dim = table->config().dim;
  for (int step = 0; step < steps; ++step) {
    Ids ids(50);
    for (int64_t& id : ids) id = static_cast<int64_t>(random() % 300);
    Look(table, ids);
    Floats gradients(ids.size() * dim);
    for (float& gradient : gradients) {
      gradient = static_cast<float>(random() % 2001) * 1e-3f - 1;
    }
    table->Update(ids, gradients, 0.01f);
  }
}

// The parameters: a row_dtype and an optimizer.
using DtypeAndRule = std::tuple<const char*, const char*>;
class TableDtype : public ::testing::TestWithParam<DtypeAndRule> {
 protected:
  std::shared_ptr<Table> Make(uint32_t dim,
                              const std::string& initializer) const {
    return TableWith(dtype(), dim, initializer, rule());
  }

  std::string dtype() const { return std::get<0>(GetParam()); }
  std::string rule() const { return std::get<1>(GetParam()); }
};

TEST_P(TableDtype, LosesNoTinyUpdates) {
  constexpr uint32_t kDim = 64;
  constexpr int kSteps = 1000;
  const Ids ids = Range(0, 100);
  const auto table = Make(kDim, "uniform(minval=0.9,maxval=1)");
  const double before = Mean(Look(table.get(), ids));
  for (int step = 0; step < kSteps; ++step) {
    table->Update(ids, Floats(ids.size() * kDim, 1.0f), 1e-4f);
  }
  double expected = 0;
  double squares = 0.1;  // Adagrad's accumulator.
  for (int step = 0; step < kSteps; ++step) {
    squares += 1;
    expected -= rule() == "sgd" ? 1e-4 : 1e-4 / std::sqrt(squares + 1e-7);
  }
  // Neighbouring values are 1/64 apart at most, and an update of u moves a
  // weight by that step with probability u / step. So a weight's variance is
  // -expected / 64 at most, and 6400 weights are averaged. Five standard
  // errors.
  const double bound = 5 * std::sqrt(-expected / 64 / 6400);
  EXPECT_NEAR(Mean(Peek(table.get(), ids)) - before, expected, bound);
}

TEST_P(TableDtype, EqualTablesTrainEqually) {
  const auto one = Make(9, "normal");
  const auto other = Make(9, "normal");
  Train(one.get(), 100);
  Train(other.get(), 100);
  EXPECT_EQ(ExportAll(*one), ExportAll(*other));
}

TEST_P(TableDtype, TrainsNearlyAsFloat32) {
  const auto table = Make(9, "normal");
  const auto exact = TableWith("float32", 9, "normal", rule());
  Train(table.get(), 100);
  Train(exact.get(), 100);
  const Floats rows = Peek(table.get(), Range(0, 300));
  const Floats exact_rows = Peek(exact.get(), Range(0, 300));
  double squares = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    squares += std::pow(rows[i] - exact_rows[i], 2);
  }
  // A row has some 17 updates, each of which is rounded by a step of 0.0016 or
  // less.
  EXPECT_LT(std::sqrt(squares / static_cast<double>(rows.size())),
            dtype() == "float32" ? 1e-9 : 0.005);
}

TEST_P(TableDtype, AppliesEachOfARepeatedIdsGradients) {
  const auto together = Make(5, "normal");
  const auto apart = Make(5, "normal");
  const Ids ids = {1, 2, 1, 1, 3, 2};
  Floats gradients;
  for (int i = 0; i < 30; ++i)
    gradients.push_back(0.1f * static_cast<float>(i));
  Look(together.get(), ids);
  Look(apart.get(), ids);
  EXPECT_EQ(together->Update(ids, gradients, 0.1f).applied, 6u);
  for (size_t i = 0; i < ids.size(); ++i) {
    apart->Update(Ids{ids[i]}, Span<const float>(&gradients[i * 5], 5), 0.1f);
  }
  EXPECT_EQ(ExportAll(*together), ExportAll(*apart));
}

TEST_P(TableDtype, ANonFiniteGradientChangesNothing) {
  const auto table = Make(3, "normal");
  Look(table.get(), {1, 2});
  const auto before = ExportAll(*table);
  EXPECT_EQ(table->Update(Ids{1, 2}, Floats{1, NAN, 1, 1, 1, INFINITY}, 1.0f)
                .nonfinite,
            2u);
  EXPECT_EQ(ExportAll(*table), before);
}

// The dtypes that round.
class RoundingTableDtype : public TableDtype {
 protected:
  // If two rows were rounded in the same way, their errors would not average
  // out.
  void ExpectRoundsApart(const Ids& ids) const {
    constexpr ptrdiff_t kDim = 64;
    const auto table = Make(kDim, "zeros");
    Floats weights;
    for (int i = 0; i < 2 * kDim; ++i) {
      weights.push_back(0.01f * static_cast<float>(1 + i % kDim));
    }
    table->Assign(ids, weights, {});
    for (int step = 0; step < 20; ++step) {
      table->Update(ids, Floats(2 * kDim, 1.0f), 1e-3f);
    }
    const Floats rows = Peek(table.get(), ids);
    EXPECT_NE(Floats(rows.begin(), rows.begin() + kDim),
              Floats(rows.begin() + kDim, rows.end()));
  }
};

TEST_P(RoundingTableDtype, RoundsRowsOfASubShardApart) {
  ExpectRoundsApart(IdsOfSubShard(60, 2));
}

TEST_P(RoundingTableDtype, RoundsRowsOfTwoSubShardsApart) {
  ExpectRoundsApart({IdsOfSubShard(3, 1)[0], IdsOfSubShard(60, 1)[0]});
}

std::string NameOf(const ::testing::TestParamInfo<DtypeAndRule>& info) {
  return Concat(std::get<0>(info.param), "_", std::get<1>(info.param));
}

INSTANTIATE_TEST_SUITE_P(All, TableDtype,
                         ::testing::Combine(::testing::ValuesIn(kDtypes),
                                            ::testing::Values("sgd",
                                                              "adagrad")),
                         NameOf);

INSTANTIATE_TEST_SUITE_P(
    All, RoundingTableDtype,
    ::testing::Combine(::testing::Values("bfloat16", "float16", "int8"),
                       ::testing::Values("sgd", "adagrad")),
    NameOf);

TEST(TableDtypes, AZeroGradientMovesNoWeightAsOthersMove) {
  for (const char* dtype : kDtypes) {
    const auto table = TableWith(dtype, 8, "zeros", "sgd");
    // The last weight rises a little and falls again.
    const Floats first = {0.9f, -0.5f, 0.3f, 0.1f, -0.02f, 0, 0.7f, 1.2f};
    table->Assign(Ids{1}, first, {});
    const Floats before = Peek(table.get(), {1});
    for (int step = 0; step < 2000; ++step) {
      Floats gradients(8, 0.0f);
      gradients[7] = step % 100 < 50 ? -1.0f : 1.0f;
      table->Update(Ids{1}, gradients, 0.01f);
    }
    const Floats after = Peek(table.get(), {1});
    EXPECT_EQ(Floats(after.begin(), after.begin() + 7),
              Floats(before.begin(), before.begin() + 7))
        << dtype;
    EXPECT_NEAR(after[7], 1.2f, 0.7f) << dtype;
  }
}

// Weights are rounded after the bound is applied.
TEST(TableDtypes, WeightsPassABoundByAStepOfRoundingAtMost) {
  for (const char* dtype : kDtypes) {
    for (const float bound : {0.3f, 0.25f}) {
      const auto table = TableWith(dtype, 8, "normal",
                                   Concat("sgd(weight_bound=", bound, ")"));
      Look(table.get(), {1});
      float most = 0;
      for (int step = 0; step < 300; ++step) {
        table->Update(Ids{1}, Floats(8, step % 50 < 25 ? 1.0f : -1.0f), 0.05f);
        for (const float weight : Peek(table.get(), {1})) {
          most = std::max(most, std::abs(weight));
        }
      }
      // All dtypes hold a power of two exactly; the largest step, of int8, is
      // 1/31.
      EXPECT_LE(most, bound == 0.25f ? bound : bound * (1 + 1 / 31.0f))
          << dtype;
      EXPECT_GE(most, bound * 0.99f) << dtype;
    }
  }
}

TEST(TableDtypes, TakeLessMemoryAsTheyAreNarrower) {
  uint64_t before = ~uint64_t{0};
  for (const char* dtype : {"float32", "bfloat16", "int8"}) {
    const auto table = TableWith(dtype, 64, "normal", "sgd");
    Look(table.get(), Range(0, 50000));
    EXPECT_LT(table->Stats().bytes, before * 7 / 10) << dtype;
    before = table->Stats().bytes;
  }
}

TEST(TableDtypes, EveryRuleAppliesEachOfARepeatedIdsGradients) {
  for (const char* rule : {"sgd(momentum=0.9)", "adagrad", "adam", "rmsprop",
                           "ftrl", "lamb", "rowwise_adagrad"}) {
    const auto together = TableWith("float32", 4, "normal", rule);
    const auto apart = TableWith("float32", 4, "normal", rule);
    const Ids ids(40, 7);
    Floats gradients;
    for (int i = 0; i < 160; ++i) {
      gradients.push_back(0.01f * static_cast<float>(i % 23) - 0.1f);
    }
    Look(together.get(), {7});
    Look(apart.get(), {7});
    together->Update(ids, gradients, 0.1f);
    for (size_t i = 0; i < ids.size(); ++i) {
      apart->Update(Ids{7}, Span<const float>(&gradients[i * 4], 4), 0.1f);
    }
    EXPECT_EQ(ExportAll(*together), ExportAll(*apart)) << rule;
  }
}

}  // namespace
}  // namespace persia
