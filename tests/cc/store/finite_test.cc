#include "cc/store/finite.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <vector>

namespace persia {
namespace {

bool AllFinite(const float* values, size_t dim) {
  constexpr uint32_t kPlace = 0;
  uint8_t finite = 2;
  FindFinite(values, &kPlace, 1, dim, &finite);
  EXPECT_LE(finite, 1);
  return finite == 1;
}

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

TEST(FindFinite, LooksAtTheVectorsOfItsPlaces) {
  for (const size_t dim : {1, 5, 16, 32, 40}) {
    std::vector<float> values(4 * dim, 1.0f);
    values[3 * dim - 1] = NAN;  // The last one of vector 2.
    const std::vector<uint32_t> places = {3, 2, 0};
    std::vector<uint8_t> finite(3);
    FindFinite(values.data(), places.data(), 3, dim, finite.data());
    EXPECT_EQ(finite, (std::vector<uint8_t>{1, 0, 1})) << dim;
  }
}

}  // namespace
}  // namespace persia
