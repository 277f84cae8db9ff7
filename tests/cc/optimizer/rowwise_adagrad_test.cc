#include <gtest/gtest.h>

#include <cmath>

#include "tests/cc/optimizer/row_trainer.h"

namespace persia {
namespace {

TEST(RowWiseAdagrad, HasOneNumberOfStateARow) {
  EXPECT_EQ((*OptimizerOf("rowwise_adagrad"))->state_size(64), 1u);
}

TEST(RowWiseAdagrad, DividesByTheRootOfTheMeanSquare) {
  RowTrainer row("rowwise_adagrad(initial_accumulator_value=0.25,epsilon=0)",
                 {1.0f, 1.0f, 1.0f, 1.0f});
  row.Step({1.0f, -1.0f, 3.0f, 1.0f}, 0.5f);  // Mean square 3.
  const float scale = 0.5f / std::sqrt(3.25f);
  EXPECT_FLOAT_EQ(row.weights()[0], 1 - scale);
  EXPECT_FLOAT_EQ(row.weights()[1], 1 + scale);
  EXPECT_FLOAT_EQ(row.weights()[2], 1 - 3 * scale);
  row.Step({0.0f, 0.0f, 0.0f, 2.0f}, 0.5f);  // 1 more.
  EXPECT_FLOAT_EQ(row.weights()[0], 1 - scale);
  EXPECT_FLOAT_EQ(row.weights()[3], 1 - scale - 1 / std::sqrt(4.25f));
}

TEST(RowWiseAdagrad, IsAdagradWhereARowHasOneWeight) {
  RowTrainer rowwise("rowwise_adagrad", {0.5f});
  RowTrainer elementwise("adagrad", {0.5f});
  for (const float gradient : {0.3f, -2.0f, 0.0f, 7.0f}) {
    rowwise.Step({gradient}, 0.1f);
    elementwise.Step({gradient}, 0.1f);
    EXPECT_EQ(rowwise.weights(), elementwise.weights());
  }
}

}  // namespace
}  // namespace persia
