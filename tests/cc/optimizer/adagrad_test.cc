#include <gtest/gtest.h>

#include <cmath>

#include "tests/cc/optimizer/follows_formula.h"
#include "tests/cc/optimizer/row_trainer.h"

namespace persia {
namespace {

TEST(Adagrad, FollowsItsFormula) {
  ExpectFollows(
      "adagrad",
      [] {
        return [a = 0.1](double* w, double g, int) mutable {
          a += g * g;
          *w -= kRate * g / std::sqrt(a + 1e-7);
        };
      },
      1e-5);
}

TEST(Adagrad, AddsTheSquareBeforeItUsesTheSum) {
  RowTrainer row("adagrad(initial_accumulator_value=0,epsilon=1e-12)", {0.0f});
  row.Step({4.0f}, 0.5f);  // 0.5 * 4 / sqrt(4 * 4); before: 2e6.
  EXPECT_FLOAT_EQ(row.weights()[0], -0.5f);
}

TEST(Adagrad, LeavesAWeightAloneThatHasNoGradient) {
  RowTrainer row("adagrad(initial_accumulator_value=0)", {3.0f});
  row.Step({0.0f}, 0.5f);
  EXPECT_EQ(row.weights()[0], 3.0f);
}

}  // namespace
}  // namespace persia
