// What Keras 3.15 (TensorFlow backend) makes of the same weights and gradients,
// every weight having a gradient in every step.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cc/optimizer/row_trainer.h"

namespace persia {
namespace {

struct Golden {
  const char* optimizer;
  std::vector<float> weights;  // After the four steps at learning rate 0.1.
};

class KerasGolden : public ::testing::TestWithParam<Golden> {};

TEST_P(KerasGolden, IsReproduced) {
  RowTrainer row(GetParam().optimizer, {1.0f, -0.5f, 0.25f});
  row.Step({0.1f, -2.0f, 0.0f}, 0.1f);
  row.Step({0.3f, 1.5f, -1e-3f}, 0.1f);
  row.Step({-0.2f, 0.25f, 4.0f}, 0.1f);
  row.Step({0.05f, -1.0f, 0.5f}, 0.1f);
  const std::vector<float> weights = row.weights();
  for (size_t d = 0; d < weights.size(); ++d) {
    EXPECT_NEAR(weights[d], GetParam().weights[d], 2e-7) << "weight " << d;
  }
}

INSTANTIATE_TEST_SUITE_P(
    AllRules, KerasGolden,
    ::testing::Values(
        Golden{"sgd", {0.975000024f, -0.37500003f, -0.199900016f}},
        Golden{"sgd(momentum=0.9)",
               {0.917310059f, -0.166200072f, -0.55972898f}},
        Golden{"sgd(momentum=0.9,nesterov=1)",
               {0.900578976f, -0.0745800436f, -0.928656101f}},
        Golden{"adagrad", {0.933438182f, -0.433895499f, 0.138261795f}},
        Golden{"adagrad(initial_accumulator_value=0.5,epsilon=0.01)",
               {0.966338575f, -0.437333047f, 0.139483377f}},
        Golden{"adam", {0.753794491f, -0.368657947f, 0.20118916f}},
        Golden{"adam(beta_1=0.5,beta_2=0.99,epsilon=0.001)",
               {0.804243505f, -0.409383833f, 0.0945153832f}}),
    [](const auto& golden) { return "Case" + std::to_string(golden.index); });

}  // namespace
}  // namespace persia
