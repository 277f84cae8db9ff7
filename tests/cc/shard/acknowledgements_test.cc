#include "cc/shard/acknowledgements.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace persia {
namespace {

TEST(AcknowledgementsTest, CallsWhatWaitedInOrder) {
  Acknowledgements acknowledgements;
  std::vector<int> called;
  const auto then = [&](int number) {
    return [&called, number](const Status& status) {
      EXPECT_TRUE(status.ok());
      called.push_back(number);
    };
  };
  acknowledgements.When(0, then(0));
  acknowledgements.When(7, then(7));
  acknowledgements.When(3, then(3));
  EXPECT_EQ(called, std::vector<int>({0}));
  acknowledgements.Advance(2);
  EXPECT_EQ(called, std::vector<int>({0}));
  acknowledgements.Advance(7);
  EXPECT_EQ(called, std::vector<int>({0, 3, 7}));
  acknowledgements.When(5, then(5));
  EXPECT_EQ(called, std::vector<int>({0, 3, 7, 5}));
}

TEST(AcknowledgementsTest, NeverGoesBack) {
  Acknowledgements acknowledgements;
  acknowledgements.Advance(5);
  acknowledgements.Advance(2);
  EXPECT_EQ(acknowledgements.position(), 5u);
  EXPECT_TRUE(acknowledgements.BlockUntil(5).ok());
}

TEST(AcknowledgementsTest, TheEndFailsAllThatWaitsAndWill) {
  Acknowledgements acknowledgements;
  acknowledgements.Advance(2);
  Code code = Code::kOk;
  acknowledgements.When(3, [&](const Status& status) { code = status.code(); });
  acknowledgements.End(Status(Code::kMoved, "replaced"));
  EXPECT_EQ(code, Code::kMoved);
  EXPECT_EQ(acknowledgements.BlockUntil(4).code(), Code::kMoved);
  EXPECT_TRUE(acknowledgements.BlockUntil(2).ok());
}

}  // namespace
}  // namespace persia
