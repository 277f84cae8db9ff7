#include <gtest/gtest.h>

#include <vector>

#include "tests/cc/optimizer/row_trainer.h"

namespace persia {
namespace {

TEST(RowOptions, ClipnormScalesARowToTheNorm) {
  RowTrainer row("sgd(clipnorm=1)", {0.0f, 0.0f});
  row.Step({3.0f, -4.0f}, 1.0f);
  EXPECT_FLOAT_EQ(row.weights()[0], -0.6f);
  EXPECT_FLOAT_EQ(row.weights()[1], 0.8f);
}

TEST(RowOptions, ClipnormLeavesAShorterGradientAsItIs) {
  RowTrainer row("sgd(clipnorm=8)", {0.0f, 0.0f});
  row.Step({3.0f, -4.0f}, 1.0f);
  row.Step({0.0f, 0.0f}, 1.0f);
  EXPECT_EQ(row.weights(), (std::vector<float>{-3.0f, 4.0f}));
}

TEST(RowOptions, ClipvalueClipsEachValue) {
  RowTrainer row("sgd(clipvalue=0.5)", {0.0f, 0.0f, 0.0f});
  row.Step({3.0f, -4.0f, 0.25f}, 1.0f);
  EXPECT_EQ(row.weights(), (std::vector<float>{-0.5f, 0.5f, -0.25f}));
}

TEST(RowOptions, WeightDecayTakesAShareBeforeTheRule) {
  RowTrainer row("sgd(weight_decay=0.5)", {2.0f, -4.0f});
  row.Step({1.0f, 0.0f}, 0.5f);
  EXPECT_EQ(row.weights(), (std::vector<float>{1.0f, -3.0f}));
}

TEST(RowOptions, WeightBoundBringsWeightsBackAfterTheRule) {
  RowTrainer row("sgd(weight_bound=1.5)", {1.0f, -1.0f, 0.5f});
  row.Step({-1.0f, 1.0f, 0.25f}, 1.0f);
  EXPECT_EQ(row.weights(), (std::vector<float>{1.5f, -1.5f, 0.25f}));
}

// In another order the weight after the first step would be 0.75 or -0.25.
TEST(RowOptions, ComposeInKerassOrder) {
  RowTrainer row("sgd(clipvalue=1,weight_decay=0.5,weight_bound=0.5)", {2.0f});
  row.Step({10.0f}, 0.5f);
  EXPECT_EQ(row.weights(), (std::vector<float>{0.5f}));
  row.Step({10.0f}, 0.5f);
  EXPECT_EQ(row.weights(), (std::vector<float>{-0.125f}));
}

TEST(RowOptions, AddNoState) {
  const auto with =
      OptimizerOf("adam(clipnorm=1,weight_decay=0.1,weight_bound=2)");
  EXPECT_EQ((*with)->state_size(8), (*OptimizerOf("adam"))->state_size(8));
}

// The rows are more than are clipped at a time, and not a multiple of that
// number.
TEST(RowOptions, ClipEachRowOfALargeUpdateByItself) {
  constexpr size_t kRows = 1000, kDim = 20;
  const auto rule = OptimizerOf("sgd(clipnorm=1)");
  ASSERT_TRUE(rule.ok());
  std::vector<float> weights(kRows * kDim), gradients(kRows * kDim);
  std::vector<float*> rows, states(kRows, nullptr);
  std::vector<const float*> row_gradients;
  for (size_t i = 0; i < kRows; ++i) {
    rows.push_back(&weights[i * kDim]);
    row_gradients.push_back(&gradients[i * kDim]);
    gradients[i * kDim + i % kDim] = 1 + static_cast<float>(i);
  }
  const std::vector<float> given = gradients;
  (*rule)->Update(
      {rows.data(), states.data(), row_gradients.data(), kRows, kDim, 1.0f});
  for (size_t i = 0; i < kRows; ++i) {
    ASSERT_EQ(rows[i][i % kDim], -1.0f) << "row " << i;
    ASSERT_EQ(rows[i][(i + 1) % kDim], 0.0f) << "row " << i;
  }
  EXPECT_EQ(gradients, given);
}

TEST(RowOptions, ClipRowsOfManyWeights) {
  std::vector<float> gradient(10000, 1.0f);  // Norm 100.
  RowTrainer row("sgd(clipnorm=1)", std::vector<float>(10000));
  row.Step(gradient, 1.0f);
  EXPECT_NEAR(row.weights()[9999], -0.01f, 1e-7);
}

}  // namespace
}  // namespace persia
