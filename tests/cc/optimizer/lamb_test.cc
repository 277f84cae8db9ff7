#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/cc/optimizer/row_trainer.h"

namespace persia {
namespace {

double Norm(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value * value;
  return std::sqrt(sum);
}

TEST(Lamb, FollowsItsFormula) {
  constexpr size_t kDim = 19;
  std::vector<float> start(kDim);
  for (size_t d = 0; d < kDim; ++d) start[d] = 0.1f * static_cast<float>(d) - 1;
  RowTrainer row("lamb", start);
  std::vector<double> w(start.begin(), start.end()), m(kDim), v(kDim), u(kDim);
  for (int step = 1; step <= 100; ++step) {
    std::vector<float> gradient(kDim);
    for (size_t d = 0; d < kDim; ++d) {
      const double g = std::sin(0.7 * step + 1.3 * static_cast<double>(d));
      gradient[d] = static_cast<float>(g);
      m[d] = 0.9 * m[d] + 0.1 * g;
      v[d] = 0.999 * v[d] + 0.001 * g * g;
      u[d] = m[d] / (1 - std::pow(0.9, step)) /
             (std::sqrt(v[d] / (1 - std::pow(0.999, step))) + 1e-7);
    }
    const double trust = Norm(w) / Norm(u);
    for (size_t d = 0; d < kDim; ++d) w[d] -= trust * 0.05 * u[d];
    row.Step(gradient, 0.05f);
  }
  for (size_t d = 0; d < kDim; ++d) {
    EXPECT_NEAR(row.weights()[d], w[d], 2e-4) << "weight " << d;
  }
}

TEST(Lamb, TakesAWholeStepWhereARowIsZero) {
  RowTrainer row("lamb", {0.0f, 0.0f});
  row.Step({3.0f, -4.0f}, 0.1f);
  EXPECT_NEAR(row.weights()[0], -0.1f, 1e-5);
  EXPECT_NEAR(row.weights()[1], 0.1f, 1e-5);
}

TEST(Lamb, StandsStillWhereNoGradientEverCame) {
  RowTrainer row("lamb", {1.0f, 2.0f});
  row.Step({0.0f, 0.0f}, 0.1f);
  EXPECT_EQ(row.weights(), (std::vector<float>{1.0f, 2.0f}));
}

}  // namespace
}  // namespace persia
