#include "cc/base/number.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cstdlib>

namespace persia {
namespace {

TEST(NumberText, IsShort) {
  EXPECT_EQ(NumberText(0.1), "0.1");
  EXPECT_EQ(NumberText(1e-7), "1e-07");
  EXPECT_EQ(NumberText(3.0), "3");
  EXPECT_EQ(NumberText(-2.5), "-2.5");
  EXPECT_EQ(NumberText(0.1f), "0.1");
}

TEST(NumberText, ReadsBackAsTheSameNumber) {
  for (const double value : {1.0 / 3, 0.1 + 0.2, DBL_MAX, DBL_MIN, -DBL_MAX,
                             DBL_TRUE_MIN, 123456789012345678.0}) {
    EXPECT_EQ(std::strtod(NumberText(value).c_str(), nullptr), value);
  }
}

TEST(NumberText, HasOneZero) {
  EXPECT_EQ(NumberText(0.0), "0");
  EXPECT_EQ(NumberText(-0.0), "0");
  EXPECT_EQ(NumberText(-0.0f), "0");
}

}  // namespace
}  // namespace persia
