#include "cc/optimizer/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/cc/optimizer/row_trainer.h"

namespace persia {
namespace {

constexpr double kRate = 0.05;
constexpr int kSteps = 300;

// Not a multiple of any vector's width, so that loops have a remainder.
constexpr size_t kDim = 19;

double GradientAt(int step, size_t d) {
  return std::sin(0.7 * step + 1.3 * static_cast<double>(d)) *
         (1 + static_cast<double>(d % 3));
}

// One weight's rule in double, written from the papers' formulas; `step`
// counts from 1.
using ScalarRule =
    std::function<void(double* weight, double gradient, int step)>;

// Runs `kSteps` on a row and, weight by weight, through rules that
// `make_rule` makes.
void ExpectFollows(const std::string& text,
                   const std::function<ScalarRule()>& make_rule,
                   double tolerance) {
  std::vector<float> start(kDim);
  for (size_t d = 0; d < kDim; ++d) start[d] = 0.1f * static_cast<float>(d) - 1;
  RowTrainer row(text, start);
  for (int step = 1; step <= kSteps; ++step) {
    std::vector<float> gradient(kDim);
    for (size_t d = 0; d < kDim; ++d) {
      gradient[d] = static_cast<float>(GradientAt(step, d));
    }
    row.Step(gradient, static_cast<float>(kRate));
  }
  const std::vector<float> weights = row.weights();
  for (size_t d = 0; d < kDim; ++d) {
    double weight = start[d];
    const ScalarRule rule = make_rule();
    for (int step = 1; step <= kSteps; ++step) {
      rule(&weight, GradientAt(step, d), step);
    }
    EXPECT_NEAR(weights[d], weight, tolerance) << text << ", weight " << d;
  }
}

TEST(Sgd, FollowsItsFormula) {
  ExpectFollows(
      "sgd", [] { return [](double* w, double g, int) { *w -= kRate * g; }; },
      1e-5);
}

TEST(Sgd, FollowsItsFormulaWithMomentum) {
  ExpectFollows(
      "sgd(momentum=0.8)",
      [] {
        return [v = 0.0](double* w, double g, int) mutable {
          v = 0.8 * v - kRate * g;
          *w += v;
        };
      },
      1e-5);
}

TEST(Sgd, FollowsItsFormulaWithNesterovMomentum) {
  ExpectFollows(
      "sgd(momentum=0.8,nesterov=1)",
      [] {
        return [v = 0.0](double* w, double g, int) mutable {
          v = 0.8 * v - kRate * g;
          *w += 0.8 * v - kRate * g;
        };
      },
      1e-5);
}

TEST(Sgd, KeepsMovingByMomentumAlone) {
  RowTrainer plain("sgd", {1.0f});
  RowTrainer heavy("sgd(momentum=0.5)", {1.0f});
  for (RowTrainer* row : {&plain, &heavy}) {
    row->Step({1.0f}, 0.5f);
    row->Step({0.0f}, 0.5f);
  }
  EXPECT_FLOAT_EQ(plain.weights()[0], 0.5f);
  EXPECT_FLOAT_EQ(heavy.weights()[0], 0.25f);
}

TEST(Sgd, HasNoStateWithoutMomentum) {
  EXPECT_EQ((*OptimizerOf("sgd(nesterov=1)"))->state_size(8), 0u);
  EXPECT_EQ((*OptimizerOf("sgd(momentum=0.9)"))->state_size(8), 8u);
}

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

TEST(Adam, FollowsItsFormula) {
  ExpectFollows(
      "adam",
      [] {
        return [m = 0.0, v = 0.0](double* w, double g, int step) mutable {
          m = 0.9 * m + 0.1 * g;
          v = 0.999 * v + 0.001 * g * g;
          const double m_hat = m / (1 - std::pow(0.9, step));
          const double v_hat = v / (1 - std::pow(0.999, step));
          // Epsilon is so small that where it is added does not show.
          *w -= kRate * m_hat / (std::sqrt(v_hat) + 1e-7);
        };
      },
      2e-4);  // 1 - 0.999^t in float32 is wrong in the fifth digit at first.
}

// A row's first step is the learning rate, however often others moved.
TEST(Adam, CountsTheRowsOwnUpdates) {
  const auto adam = OptimizerOf("adam");
  ASSERT_TRUE(adam.ok());
  constexpr size_t kRowDim = 2;
  const size_t floats = kRowDim + (*adam)->state_size(kRowDim);
  std::vector<float> old_row(floats), new_row(floats);
  float* const rows[] = {old_row.data(), new_row.data()};
  const std::vector<float> gradients = {1.0f, -1.0f, 1.0f, -1.0f};
  for (int step = 0; step < 20; ++step) {
    (*adam)->Update(rows, gradients.data(), 1, kRowDim, 0.1f);
  }
  (*adam)->Update(rows, gradients.data(), 2, kRowDim, 0.1f);
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

TEST(Optimizer, UpdatesRowsThatLieApart) {
  const auto sgd = OptimizerOf("sgd");
  ASSERT_TRUE(sgd.ok());
  std::vector<float> first = {1, 2}, second = {3, 4};
  float* const rows[] = {second.data(), first.data()};
  const std::vector<float> gradients = {1, 1, 10, 10};
  (*sgd)->Update(rows, gradients.data(), 2, 2, 0.5f);
  EXPECT_EQ(first, (std::vector<float>{-4, -3}));
  EXPECT_EQ(second, (std::vector<float>{2.5f, 3.5f}));
}

// An optimizer, and the whole of its error.
using BadOptimizer = std::pair<const char*, const char*>;
class MakeOptimizerRefuses : public ::testing::TestWithParam<BadOptimizer> {};

TEST_P(MakeOptimizerRefuses, SayingParameterRuleAndValue) {
  const auto [text, message] = GetParam();
  const auto optimizer = OptimizerOf(text);
  ASSERT_FALSE(optimizer.ok()) << text;
  EXPECT_EQ(optimizer.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(optimizer.status().message(), message);
}

INSTANTIATE_TEST_SUITE_P(
    BadOptimizers, MakeOptimizerRefuses,
    ::testing::Values(
        BadOptimizer("ftrl",
                     "optimizer must be sgd, adagrad or adam, received "
                     "\"ftrl\""),
        BadOptimizer("sgd(momentun=0.9)",
                     "optimizer sgd has no parameter momentun; it has "
                     "momentum, nesterov"),
        BadOptimizer("sgd(momentum=1.5)",
                     "optimizer sgd: momentum must be between 0 and 1, "
                     "received 1.5"),
        BadOptimizer("sgd(momentum=-0.1)",
                     "optimizer sgd: momentum must be between 0 and 1, "
                     "received -0.1"),
        BadOptimizer("sgd(nesterov=0.5)",
                     "optimizer sgd: nesterov must be 0 or 1, received 0.5"),
        BadOptimizer("adagrad(initial_accumulator_value=-1)",
                     "optimizer adagrad: initial_accumulator_value must be at "
                     "least 0, and a float32, received -1"),
        BadOptimizer("adagrad(epsilon=1e300)",
                     "optimizer adagrad: epsilon must be at least 0, and a "
                     "float32, received 1e+300"),
        BadOptimizer("adagrad(epsilon=0,initial_accumulator_value=0)",
                     "optimizer adagrad: epsilon must be above 0 in float32 "
                     "where initial_accumulator_value is 0, received 0"),
        BadOptimizer("adam(beta_1=1)",
                     "optimizer adam: beta_1 must be at least 0 and, in "
                     "float32, below 1, received 1"),
        BadOptimizer("adam(beta_2=0.999999999999)",
                     "optimizer adam: beta_2 must be at least 0 and, in "
                     "float32, below 1, received 0.999999999999"),
        BadOptimizer("adam(beta_2=-0.5)",
                     "optimizer adam: beta_2 must be at least 0 and, in "
                     "float32, below 1, received -0.5"),
        BadOptimizer("adam(epsilon=0)",
                     "optimizer adam: epsilon must be above 0, and a float32, "
                     "received 0")));

TEST(MakeOptimizer, AcceptsTheEndsOfTheRanges) {
  for (const char* text :
       {"sgd(momentum=1)", "adagrad(epsilon=0)",
        "adagrad(initial_accumulator_value=0)", "adam(beta_1=0,beta_2=0)"}) {
    EXPECT_TRUE(OptimizerOf(text).ok()) << text;
  }
}

}  // namespace
}  // namespace persia
