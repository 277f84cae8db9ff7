#include "cc/store/finite.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <vector>

namespace persia {
namespace {

TEST(AllFinite, AcceptsTheEndsOfTheRange) {
  const std::vector<float> values = {0.0f,     -0.0f,        FLT_MAX,
                                     -FLT_MAX, FLT_TRUE_MIN, -FLT_MIN};
  EXPECT_TRUE(AllFinite(values.data(), values.size()));
}

TEST(AllFinite, FindsOneBadValueAnywhere) {
  for (const float bad : {NAN, -NAN, INFINITY, -INFINITY}) {
    for (size_t at = 0; at < 37; ++at) {
      std::vector<float> values(37, 1.0f);
      values[at] = bad;
      EXPECT_FALSE(AllFinite(values.data(), values.size())) << bad << at;
    }
  }
}

TEST(AllFinite, HoldsForNothing) { EXPECT_TRUE(AllFinite(nullptr, 0)); }

}  // namespace
}  // namespace persia
