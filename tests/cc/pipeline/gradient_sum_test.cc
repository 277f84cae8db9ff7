#include "cc/pipeline/gradient_sum.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "tests/cc/pipeline/steps.h"

namespace persia {
namespace {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

Ids IdsOf(const SummedGradients& sum) {
  return Ids(sum.ids.ids.begin(), sum.ids.ids.end());
}

Floats GradientsOf(const SummedGradients& sum) {
  return Floats(sum.gradients.begin(), sum.gradients.end());
}

TEST(SumGradients, CopiesNothingWithoutDuplicates) {
  TableStep step = MakeStep(1);
  AddPart(&step, {4, 2}, {10, 20});
  const SummedGradients sum = SumGradients(step);
  EXPECT_EQ(sum.ids.ids.data(), step.parts[0].plan->unique.ids.data());
  EXPECT_EQ(sum.gradients.data(), step.parts[0].gradients.values.data());
  EXPECT_EQ(IdsOf(sum), (Ids{4, 2}));
  EXPECT_EQ(GradientsOf(sum), (Floats{10, 20}));
}

TEST(SumGradients, AddsThoseOfDuplicates) {
  TableStep step = MakeStep(1);
  AddPart(&step, {4, 2, 4, 4}, {1, 10, 100, 1000});
  const SummedGradients sum = SumGradients(step);
  EXPECT_EQ(IdsOf(sum), (Ids{4, 2}));
  EXPECT_EQ(GradientsOf(sum), (Floats{1101, 10}));
}

TEST(SumGradients, AddsWholeRows) {
  TableStep step = MakeStep(1);
  step.dim = 2;
  AddPart(&step, {4, 4}, {1, 2, 10, 20});
  const SummedGradients sum = SumGradients(step);
  EXPECT_EQ(IdsOf(sum), (Ids{4}));
  EXPECT_EQ(GradientsOf(sum), (Floats{11, 22}));
}

TEST(SumGradients, MergesParts) {
  TableStep step = MakeStep(1);
  AddPart(&step, {1, 2}, {1, 2});
  AddPart(&step, {2, 3, 2}, {10, 20, 30});
  AddPart(&step, {1}, {100});
  const SummedGradients sum = SumGradients(step);
  EXPECT_EQ(IdsOf(sum), (Ids{1, 2, 3}));
  EXPECT_EQ(GradientsOf(sum), (Floats{101, 42, 20}));
}

TEST(SumGradients, StaysValidWhenMoved) {
  TableStep step = MakeStep(1);
  AddPart(&step, {1, 1}, {1, 2});
  AddPart(&step, {1}, {4});
  SummedGradients first = SumGradients(step);
  const SummedGradients moved = std::move(first);
  EXPECT_EQ(IdsOf(moved), (Ids{1}));
  EXPECT_EQ(GradientsOf(moved), (Floats{7}));
}

}  // namespace
}  // namespace persia
