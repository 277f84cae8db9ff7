#include <gtest/gtest.h>

#include <cmath>

#include "tests/cc/optimizer/follows_formula.h"
#include "tests/cc/optimizer/row_trainer.h"

namespace persia {
namespace {

TEST(Rmsprop, FollowsItsFormula) {
  ExpectFollows(
      "rmsprop",
      [] {
        return [v = 0.0](double* w, double g, int) mutable {
          v = 0.9 * v + 0.1 * g * g;
          *w -= kRate * g / std::sqrt(v + 1e-7);
        };
      },
      1e-4);
}

TEST(Rmsprop, FollowsItsFormulaCenteredAndWithMomentum) {
  ExpectFollows(
      "rmsprop(momentum=0.8,centered=1,rho=0.5,epsilon=0.001)",
      [] {
        return [v = 0.0, mean = 0.0, move = 0.0](double* w, double g,
                                                 int) mutable {
          v = 0.5 * v + 0.5 * g * g;
          mean = 0.5 * mean + 0.5 * g;
          move = 0.8 * move + kRate * g / std::sqrt(v - mean * mean + 1e-3);
          *w -= move;
        };
      },
      1e-3);
}

TEST(Rmsprop, KeepsOnlyTheStateThatItsArgumentsNeed) {
  EXPECT_EQ((*OptimizerOf("rmsprop"))->state_size(8), 8u);
  EXPECT_EQ((*OptimizerOf("rmsprop(momentum=0.9)"))->state_size(8), 16u);
  EXPECT_EQ((*OptimizerOf("rmsprop(centered=1)"))->state_size(8), 16u);
  EXPECT_EQ((*OptimizerOf("rmsprop(momentum=0.9,centered=1)"))->state_size(8),
            24u);
}

// In float32 the average square falls below the square of the average.
TEST(Rmsprop, StaysFiniteCenteredWhereGradientsAreAllAlike) {
  RowTrainer row("rmsprop(centered=1,epsilon=1e-12)", {0.0f, 0.0f});
  for (int step = 0; step < 500; ++step) row.Step({3.7f, 1234.5f}, 1e-6f);
  for (const float weight : row.weights()) {
    EXPECT_TRUE(std::isfinite(weight));
    EXPECT_LT(weight, 0);
  }
}

}  // namespace
}  // namespace persia
