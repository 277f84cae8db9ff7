#include <gtest/gtest.h>

#include <cmath>

#include "tests/cc/optimizer/follows_formula.h"
#include "tests/cc/optimizer/row_trainer.h"

namespace persia {
namespace {

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

}  // namespace
}  // namespace persia
