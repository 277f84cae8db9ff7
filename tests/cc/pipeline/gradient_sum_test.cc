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
  EXPECT_EQ(sum.gradients.data(),
            step.parts[0].gradients.vectors.values().data());
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

// A part's gradients may be some columns of a matrix.
class ColumnsTest : public ::testing::Test {
 protected:
  ColumnsTest() { step_.dim = 2; }

  void AddColumns(const Ids& ids) {
    SharedGradients gradients;
    gradients.vectors = StridedSpan<const float>::Columns(
        matrix_, ids.size(), /*stride=*/3, /*column=*/1, /*dim=*/2);
    step_.parts.push_back({MakePlan("layer", 1, 2, ids), gradients});
  }

  const Floats matrix_{9, 1, 2, 9, 10, 20, 9, 100, 200};
  TableStep step_ = MakeStep(1);
};

TEST_F(ColumnsTest, AreCopiedWithoutDuplicates) {
  AddColumns({4, 2, 6});
  const SummedGradients sum = SumGradients(step_);
  EXPECT_EQ(GradientsOf(sum), (Floats{1, 2, 10, 20, 100, 200}));
}

TEST_F(ColumnsTest, AreSummedPerId) {
  AddColumns({4, 2, 4});
  const SummedGradients sum = SumGradients(step_);
  EXPECT_EQ(IdsOf(sum), (Ids{4, 2}));
  EXPECT_EQ(GradientsOf(sum), (Floats{101, 202, 10, 20}));
}

TEST_F(ColumnsTest, OfSeveralPartsAreMerged) {
  AddColumns({4, 2, 4});
  AddColumns({2, 3});
  const SummedGradients sum = SumGradients(step_);
  EXPECT_EQ(IdsOf(sum), (Ids{4, 2, 3}));
  EXPECT_EQ(GradientsOf(sum), (Floats{101, 202, 11, 22, 10, 20}));
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
