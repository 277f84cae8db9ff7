// The weights that Keras 3.15 (TensorFlow backend) gets from the same weights
// and gradients, where every weight has a gradient in every step.

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
               {0.804243505f, -0.409383833f, 0.0945153832f}},
        Golden{"adam(amsgrad=1,beta_2=0.5)",
               {0.770507038f, -0.370484412f, 0.224843174f}},
        Golden{"adamw", {0.752399087f, -0.367985755f, 0.200755656f}},
        Golden{"adamw(weight_decay=0.2)",
               {0.686193407f, -0.33608669f, 0.180121064f}},
        Golden{"rmsprop", {0.512404978f, -0.282773882f, 0.116069436f}},
        Golden{"rmsprop(rho=0.5,epsilon=0.001)",
               {0.79703027f, -0.387693673f, 0.0871336609f}},
        Golden{"rmsprop(momentum=0.9)",
               {-0.615998626f, 0.122320764f, 0.213832095f}},
        Golden{"rmsprop(centered=1)",
               {0.469969302f, -0.264628828f, 0.10218662f}},
        Golden{"rmsprop(momentum=0.5,centered=1)",
               {0.0213160068f, -0.137288332f, 0.107585937f}},
        Golden{"ftrl", {-0.0200244021f, -0.355808586f, -0.111738212f}},
        Golden{"ftrl(l1_regularization_strength=0.3,l2_regularization_strength="
               "0.2)",
               {0.0f, -0.334468007f, -0.103521779f}},
        Golden{"ftrl(l2_shrinkage_regularization_strength=0.1,beta=0.5)",
               {-0.0321065038f, -0.276461363f, -0.105059072f}},
        Golden{"ftrl(learning_rate_power=-0.3,initial_accumulator_value=0.5)",
               {-0.0241281372f, -0.158663169f, -0.19385381f}},
        Golden{"lamb", {0.763113439f, -0.381072164f, 0.144731164f}},
        Golden{"lamb(beta_1=0.5,beta_2=0.99,epsilon=0.001)",
               {0.815784454f, -0.415999711f, 0.103656814f}},
        Golden{"sgd(clipnorm=1)", {0.975911081f, -0.415059477f, 0.105707452f}},
        Golden{"adagrad(clipvalue=0.5)",
               {0.933438182f, -0.458406657f, 0.101251267f}},
        Golden{"sgd(momentum=0.9,weight_decay=0.1)",
               {0.879130185f, -0.15305528f, -0.565582871f}},
        Golden{"adam(clipnorm=0.5,weight_decay=0.2)",
               {0.63968122f, -0.350316435f, 0.167311847f}}),
    [](const auto& golden) { return "Case" + std::to_string(golden.index); });

}  // namespace
}  // namespace persia
