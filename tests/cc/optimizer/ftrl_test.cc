#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "tests/cc/optimizer/follows_formula.h"
#include "tests/cc/optimizer/row_trainer.h"

namespace persia {
namespace {

// The closed form: the minimum of linear * w + quadratic / 2 * w^2 + l1 * |w|.
double Minimum(double linear, double quadratic, double l1) {
  if (std::abs(linear) <= l1) return 0;
  return ((linear > 0 ? l1 : -l1) - linear) / quadratic;
}

TEST(Ftrl, FollowsItsFormula) {
  ExpectFollows(
      "ftrl",
      [] {
        return [n = 0.1, z = 0.0](double* w, double g, int) mutable {
          const double before = std::sqrt(n);
          n += g * g;
          z += g - (std::sqrt(n) - before) / kRate * *w;
          *w = Minimum(z, std::sqrt(n) / kRate, 0);
        };
      },
      1e-4);
}

TEST(Ftrl, FollowsItsFormulaWithEveryArgument) {
  ExpectFollows(
      "ftrl(learning_rate_power=-0.3,initial_accumulator_value=0.5,"
      "l1_regularization_strength=0.2,l2_regularization_strength=0.1,"
      "l2_shrinkage_regularization_strength=0.05,beta=0.4)",
      [] {
        return [n = 0.5, z = 0.0](double* w, double g, int) mutable {
          const double before = std::pow(n, 0.3);
          n += g * g;
          const double after = std::pow(n, 0.3);
          z += g + 2 * 0.05 * *w - (after - before) / kRate * *w;
          *w = Minimum(z, after / kRate + 2 * 0.1 + 0.4 / kRate, 0.2);
        };
      },
      1e-4);
}

TEST(Ftrl, SetsWeightsOfLittleUseToZero) {
  RowTrainer row("ftrl(l1_regularization_strength=1)", {0.5f, 0.5f});
  for (int step = 0; step < 5; ++step) row.Step({0.01f, 5.0f}, 0.1f);
  EXPECT_EQ(row.weights()[0], 0.0f);
  EXPECT_GT(row.weights()[1], 0.1f);
}

TEST(Ftrl, LosesInitialWeightsByTheFirstUpdate) {
  RowTrainer row("ftrl", {0.5f});
  row.Step({1e-4f}, 0.1f);
  EXPECT_NEAR(row.weights()[0], 0.0f, 1e-3);
}

TEST(Ftrl, ChangesNothingAtALearningRateOfZero) {
  RowTrainer paused("ftrl", {0.5f}), other("ftrl", {0.5f});
  paused.Step({2.0f}, 0.0f);
  EXPECT_EQ(paused.weights()[0], 0.5f);
  paused.Step({1.0f}, 0.1f);
  other.Step({1.0f}, 0.1f);
  EXPECT_EQ(paused.weights(), other.weights());
}

// Weights stay finite with gradients over ten orders of magnitude.
void ExpectStaysFinite(const std::string& optimizer, float rate) {
  RowTrainer row(optimizer, {0.5f, 0, -0.5f});
  for (int step = 0; step < 100; ++step) {
    const float scale = std::pow(10.0f, static_cast<float>(step % 11 - 5));
    row.Step({scale, -2 * scale, step % 3 == 0 ? scale : 0}, rate);
    for (const float weight : row.weights()) {
      ASSERT_TRUE(std::isfinite(weight)) << optimizer << " " << rate;
    }
  }
}

TEST(Ftrl, StaysFiniteAtTheEndsOfItsPowers) {
  for (const char* power : {"-2", "-1.5", "0"}) {
    for (const char* initial : {"0", "0.1", "1e9"}) {
      for (const float rate : {1e-3f, 1.0f}) {
        ExpectStaysFinite(Concat("ftrl(learning_rate_power=", power,
                                 ",initial_accumulator_value=", initial, ")"),
                          rate);
      }
    }
  }
}

TEST(Ftrl, StaysFiniteAtTheLeastLearningRates) {
  for (const float rate : {1e-45f, 1e-40f, 1e-38f, 1e-30f, 1e-20f, 1e-10f}) {
    ExpectStaysFinite("ftrl", rate);
  }
}

TEST(Ftrl, LeavesAWeightAloneThatNeverHadAGradient) {
  RowTrainer row("ftrl(initial_accumulator_value=0)", {0.5f, 0.5f});
  row.Step({0.0f, 1.0f}, 0.1f);
  EXPECT_EQ(row.weights()[0], 0.5f);
  EXPECT_FLOAT_EQ(row.weights()[1], 0.4f);
}

}  // namespace
}  // namespace persia
