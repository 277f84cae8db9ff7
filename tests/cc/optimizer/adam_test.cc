#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/cc/optimizer/follows_formula.h"
#include "tests/cc/optimizer/row_trainer.h"

namespace persia {
namespace {

TEST(Adam, FollowsItsFormula) {
  ExpectFollows(
      "adam",
      [] {
        return [m = 0.0, v = 0.0](double* w, double g, int step) mutable {
          m = 0.9 * m + 0.1 * g;
          v = 0.999 * v + 0.001 * g * g;
          const double m_hat = m / (1 - std::pow(0.9, step));
          const double v_hat = v / (1 - std::pow(0.999, step));
          // Epsilon is so small that it does not matter where it is added.
          *w -= kRate * m_hat / (std::sqrt(v_hat) + 1e-7);
        };
      },
      2e-4);  // 1 - 0.999^t in float32 is wrong in the fifth digit at first.
}

// A row's first step has the size of the learning rate, however many updates
// other rows had.
TEST(Adam, CountsTheRowsOwnUpdates) {
  const auto adam = OptimizerOf("adam");
  ASSERT_TRUE(adam.ok());
  constexpr size_t kRowDim = 2;
  const size_t floats = kRowDim + (*adam)->state_size(kRowDim);
  std::vector<float> old_row(floats), new_row(floats);
  float* const weights[] = {old_row.data(), new_row.data()};
  float* const states[] = {weights[0] + kRowDim, weights[1] + kRowDim};
  const float gradient[] = {1.0f, -1.0f};
  const float* const gradients[] = {gradient, gradient};
  for (int step = 0; step < 20; ++step) {
    (*adam)->Update({weights, states, gradients, 1, kRowDim, 0.1f});
  }
  (*adam)->Update({weights, states, gradients, 2, kRowDim, 0.1f});
  EXPECT_NEAR(old_row[0], -2.1f, 1e-3);
  EXPECT_NEAR(new_row[0], -0.1f, 1e-4);
  EXPECT_NEAR(new_row[1], 0.1f, 1e-4);
}

TEST(Adam, LeavesAWeightAloneThatNeverHadAGradient) {
  RowTrainer row("adam", {3.0f, 3.0f});
  for (int step = 0; step < 3; ++step) row.Step({0.0f, 1.0f}, 0.5f);
  EXPECT_EQ(row.weights()[0], 3.0f);
  EXPECT_NE(row.weights()[1], 3.0f);
}

TEST(Adam, FollowsTheFormulaOfAmsgrad) {
  ExpectFollows(
      "adam(amsgrad=1,beta_2=0.9)",
      [] {
        return [m = 0.0, v = 0.0, most = 0.0](double* w, double g,
                                              int step) mutable {
          m = 0.9 * m + 0.1 * g;
          v = 0.9 * v + 0.1 * g * g;
          most = std::max(most, v);
          *w -= kRate * std::sqrt(1 - std::pow(0.9, step)) /
                (1 - std::pow(0.9, step)) * m / (std::sqrt(most) + 1e-7);
        };
      },
      1e-4);
}

TEST(Adam, WithAmsgradKeepsTheGreatestSecondMomentToo) {
  EXPECT_EQ((*OptimizerOf("adam"))->state_size(8), 17u);
  EXPECT_EQ((*OptimizerOf("adam(amsgrad=1)"))->state_size(8), 25u);
}

TEST(Adamw, IsAdamWithWeightDecay) {
  RowTrainer adamw("adamw", {1.0f, -2.0f});
  RowTrainer adam("adam(weight_decay=0.004)", {1.0f, -2.0f});
  RowTrainer without("adamw(weight_decay=0)", {1.0f, -2.0f});
  RowTrainer plain("adam", {1.0f, -2.0f});
  for (int step = 0; step < 3; ++step) {
    for (RowTrainer* row : {&adamw, &adam, &without, &plain}) {
      row->Step({0.5f, 0.25f}, 0.1f);
    }
  }
  EXPECT_EQ(adamw.weights(), adam.weights());
  EXPECT_EQ(without.weights(), plain.weights());
  EXPECT_NE(adamw.weights(), plain.weights());
}

}  // namespace
}  // namespace persia
