// Whether a rule follows the formula of its paper, computed for each weight in
// double precision.

#ifndef PERSIA_TESTS_CC_OPTIMIZER_FOLLOWS_FORMULA_H_
#define PERSIA_TESTS_CC_OPTIMIZER_FOLLOWS_FORMULA_H_

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tests/cc/optimizer/row_trainer.h"

namespace persia {

constexpr double kRate = 0.05;

// One weight's rule; `step` counts from 1.
using ScalarRule =
    std::function<void(double* weight, double gradient, int step)>;

inline double GradientAt(int step, size_t d) {
  return std::sin(0.7 * step + 1.3 * static_cast<double>(d)) *
         (1 + static_cast<double>(d % 3));
}

// Runs 300 steps on a row, and for each weight on a rule from `make_rule`;
// expects equal weights.
inline void ExpectFollows(const std::string& text,
                          const std::function<ScalarRule()>& make_rule,
                          double tolerance) {
  constexpr int kSteps = 300;
  // Not a multiple of any vector's width, so that loops have a remainder.
  constexpr size_t kDim = 19;
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

}  // namespace persia

#endif  // PERSIA_TESTS_CC_OPTIMIZER_FOLLOWS_FORMULA_H_
