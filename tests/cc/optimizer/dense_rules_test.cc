// Dense rules move a row as if it had been stepped in every step, although it
// is stepped only when it has a gradient.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "cc/optimizer/optimizer.h"

namespace persia {
namespace {

constexpr float kRate = 0.01f;

class Row {
 public:
  explicit Row(const std::string& spec)
      : optimizer_(std::move(*MakeOptimizer(*Spec::Parse(spec)))),
        state_(optimizer_->state_size(1)) {
    optimizer_->InitState(state_.data(), 1);
  }

  void Step(float gradient, uint32_t number) {
    float* weights = &weight_;
    float* states = state_.data();
    const float* gradients = &gradient;
    optimizer_->Update({&weights, &states, &gradients, 1, 1, {kRate, number}});
  }

  float weight() const { return weight_; }

 private:
  std::unique_ptr<Optimizer> optimizer_;
  float weight_ = 1;
  std::vector<float> state_;
};

// The rule, and the same rule dense.
struct Rules {
  std::string lazy;
  std::string dense;
};

float GradientOf(uint32_t step) {
  return 0.5f + 0.4f * std::sin(static_cast<float>(step));
}

class DenseRulesTest : public ::testing::TestWithParam<Rules> {
 protected:
  // Steps both rows. The row of the lazy rule is updated in each step, with 0
  // if there is no gradient; the row of the dense rule only if `has_gradient`.
  void Step(uint32_t step, bool has_gradient) {
    every_step_.Step(has_gradient ? GradientOf(step) : 0, step);
    if (has_gradient) now_and_then_.Step(GradientOf(step), step);
  }

  // The weights may differ by one percent of how far they have moved.
  void ExpectSameWeight() const {
    EXPECT_NEAR(now_and_then_.weight(), every_step_.weight(),
                0.01f * std::abs(1 - every_step_.weight()) + 1e-5f);
  }

  Row every_step_{GetParam().lazy};
  Row now_and_then_{GetParam().dense};
};

TEST_P(DenseRulesTest, ARowOfEveryStepMovesAsEver) {
  for (uint32_t step = 1; step <= 200; ++step) {
    Step(step, true);
    if (step > 2) ExpectSameWeight();
  }
}

TEST_P(DenseRulesTest, ARowOfEveryTwentiethStepIsThereInTime) {
  for (uint32_t step = 1; step <= 1000; ++step) {
    const bool has_gradient = step % 20 == 7;
    if (has_gradient && step > 100) ExpectSameWeight();
    Step(step, has_gradient);
  }
}

TEST_P(DenseRulesTest, WhatComesUnexpectedlyIsMadeUpFor) {
  uint32_t next = 3;
  for (uint32_t step = 1; step <= 2000; ++step) {
    const bool has_gradient = step == next;
    if (has_gradient) next += 1 + (step * 7) % 90;
    Step(step, has_gradient);
  }
  // Then many steps with few gradients, until all momentum is gone.
  for (uint32_t step = 2001; step < 2400; ++step) {
    Step(step, step % 100 == 0);
  }
  ExpectSameWeight();
}

TEST_P(DenseRulesTest, StepsOfOtherWorkersAndOfAnotherRunAreTaken) {
  Row row(GetParam().dense);
  for (const uint32_t step : {5000u, 5000u, 4999u, 5003u, 2u, 1u, 0u, 9u}) {
    const float before = row.weight();
    row.Step(1, step);
    EXPECT_TRUE(std::isfinite(row.weight())) << step;
    EXPECT_NE(row.weight(), before) << step;
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, DenseRulesTest,
    ::testing::Values(
        Rules{"adam", "adam(dense=1)"},
        Rules{"adam(amsgrad=1)", "adam(amsgrad=1,dense=1)"},
        Rules{"rmsprop", "rmsprop(dense=1)"},
        Rules{"rmsprop(momentum=0.9)", "rmsprop(momentum=0.9,dense=1)"},
        Rules{"rmsprop(centered=1)", "rmsprop(centered=1,dense=1)"},
        Rules{"rmsprop(centered=1,momentum=0.5)",
              "rmsprop(centered=1,momentum=0.5,dense=1)"},
        Rules{"sgd(momentum=0.9)", "sgd(momentum=0.9,dense=1)"},
        Rules{"sgd(momentum=0.9,nesterov=1)",
              "sgd(momentum=0.9,nesterov=1,dense=1)"}));

}  // namespace
}  // namespace persia
