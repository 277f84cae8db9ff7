#include "cc/optimizer/undecided.h"

#include <gtest/gtest.h>

namespace persia {
namespace {

TEST(UndecidedTest, HasNoStateAndChangesNothing) {
  const auto made = MakeOptimizer({kUndecided, {}});
  ASSERT_TRUE(made.ok());
  EXPECT_EQ((*made)->state_size(4), 0u);
  float weight = 1;
  const float gradient = 1;
  float* weights = &weight;
  float* states = nullptr;
  const float* gradients = &gradient;
  (*made)->Update({&weights, &states, &gradients, 1, 1, 0.5f});
  EXPECT_EQ(weight, 1.0f);
}

TEST(UndecidedTest, TakesNoParameters) {
  EXPECT_EQ(MakeOptimizer({kUndecided, {{"momentum", 0.9}}}).status().code(),
            Code::kInvalidArgument);
}

TEST(UndecidedTest, IsNotOfferedToThoseWhoAskForAnother) {
  const Status status = MakeOptimizer({"magic", {}}).status();
  EXPECT_EQ(status.message().find(kUndecided), std::string::npos);
}

}  // namespace
}  // namespace persia
