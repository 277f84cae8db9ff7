#include "cc/optimizer/optimizer.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/cc/optimizer/row_trainer.h"

namespace persia {
namespace {

TEST(Optimizer, UpdatesRowsThatLieApart) {
  const auto sgd = OptimizerOf("sgd");
  ASSERT_TRUE(sgd.ok());
  std::vector<float> first = {1, 2}, second = {3, 4};
  float* const weights[] = {second.data(), first.data()};
  const std::vector<float> one = {1, 1}, ten = {10, 10};
  const float* const gradients[] = {one.data(), ten.data()};
  (*sgd)->Update({weights, weights, gradients, 2, 2, 0.5f});
  EXPECT_EQ(first, (std::vector<float>{-4, -3}));
  EXPECT_EQ(second, (std::vector<float>{2.5f, 3.5f}));
}

// An optimizer, and the whole error message that it gives.
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
        BadOptimizer(
            "adamax",
            "optimizer must be one of adagrad, adam, adamw, ftrl, "
            "lamb, rmsprop, rowwise_adagrad, sgd, received \"adamax\""),
        BadOptimizer(
            "sgd(momentun=0.9)",
            "optimizer sgd has no parameter momentun; it has "
            "momentum, nesterov, dense and, like every optimizer, clipnorm, "
            "clipvalue, weight_bound, weight_decay"),
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
                     "least 0 and within the range of float32, received -1"),
        BadOptimizer("adagrad(epsilon=1e300)",
                     "optimizer adagrad: epsilon must be at least 0 and within "
                     "the range of float32, received 1e+300"),
        BadOptimizer("adagrad(epsilon=0,initial_accumulator_value=0)",
                     "optimizer adagrad: epsilon must be above 0 in float32 "
                     "where initial_accumulator_value is 0, received 0"),
        BadOptimizer("adam(beta_1=1)",
                     "optimizer adam: beta_1 must be at least 0 and, rounded "
                     "to float32, below 1, received 1"),
        BadOptimizer("adam(beta_2=0.999999999999)",
                     "optimizer adam: beta_2 must be at least 0 and, rounded "
                     "to float32, below 1, received 0.999999999999"),
        BadOptimizer("adam(beta_2=-0.5)",
                     "optimizer adam: beta_2 must be at least 0 and, rounded "
                     "to float32, below 1, received -0.5"),
        BadOptimizer("adam(epsilon=0)",
                     "optimizer adam: epsilon must be above 0 and within the "
                     "range of float32, received 0"),
        BadOptimizer("adam(amsgrad=2)",
                     "optimizer adam: amsgrad must be 0 or 1, received 2"),
        BadOptimizer("adamw(weight_decay=-1)",
                     "optimizer adamw: weight_decay must be at least 0 and "
                     "within the range of float32, received -1"),
        BadOptimizer("rowwise_adagrad(epsilon=-1)",
                     "optimizer rowwise_adagrad: epsilon must be at least 0 "
                     "and within the range of float32, received -1"),
        BadOptimizer("rmsprop(rho=1)",
                     "optimizer rmsprop: rho must be at least 0 and, rounded "
                     "to float32, below 1, received 1"),
        BadOptimizer("rmsprop(momentum=2)",
                     "optimizer rmsprop: momentum must be between 0 and 1, "
                     "received 2"),
        BadOptimizer("rmsprop(epsilon=1e-60)",
                     "optimizer rmsprop: epsilon must be above 0 and within "
                     "the range of float32, received 1e-60"),
        BadOptimizer("rmsprop(centered=0.5)",
                     "optimizer rmsprop: centered must be 0 or 1, received "
                     "0.5"),
        BadOptimizer("ftrl(learning_rate_power=0.5)",
                     "optimizer ftrl: learning_rate_power must be between -2 "
                     "and 0, received 0.5"),
        BadOptimizer("ftrl(learning_rate_power=-2.5)",
                     "optimizer ftrl: learning_rate_power must be between -2 "
                     "and 0, received -2.5"),
        BadOptimizer("ftrl(learning_rate_power=-2,"
                     "initial_accumulator_value=2e9)",
                     "optimizer ftrl: initial_accumulator_value must be at "
                     "most 1e18 when raised to -learning_rate_power, 2, "
                     "received 2e+09"),
        BadOptimizer("ftrl(l1_regularization_strength=-1)",
                     "optimizer ftrl: l1_regularization_strength must be at "
                     "least 0 and within the range of float32, received -1"),
        BadOptimizer("ftrl(beta=-0.5)",
                     "optimizer ftrl: beta must be at least 0 and within the "
                     "range of float32, received -0.5"),
        BadOptimizer("lamb(amsgrad=1)",
                     "optimizer lamb has no parameter amsgrad; it has beta_1, "
                     "beta_2, epsilon and, like every optimizer, clipnorm, "
                     "clipvalue, weight_bound, weight_decay"),
        BadOptimizer("sgd(clipnorm=0)",
                     "optimizer sgd: clipnorm must be above 0 and within the "
                     "range of float32, received 0"),
        BadOptimizer("sgd(clipvalue=-2)",
                     "optimizer sgd: clipvalue must be above 0 and within the "
                     "range of float32, received -2"),
        BadOptimizer("sgd(clipnorm=1,clipvalue=2)",
                     "optimizer sgd: clipvalue must be left out where clipnorm "
                     "is given, received 2"),
        BadOptimizer("sgd(weight_bound=0)",
                     "optimizer sgd: weight_bound must be above 0 and within "
                     "the range of float32, received 0")));

TEST(MakeOptimizer, AcceptsTheEndsOfTheRanges) {
  for (const char* text :
       {"sgd(momentum=1)", "adagrad(epsilon=0)",
        "adagrad(initial_accumulator_value=0)", "adam(beta_1=0,beta_2=0)",
        "rmsprop(rho=0,momentum=1)", "ftrl(learning_rate_power=0)",
        "ftrl(learning_rate_power=-2)", "ftrl(initial_accumulator_value=0)",
        "sgd(weight_decay=0)"}) {
    EXPECT_TRUE(OptimizerOf(text).ok()) << text;
  }
}

}  // namespace
}  // namespace persia
