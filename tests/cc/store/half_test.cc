#include "cc/store/half.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace persia {
namespace {

// Bits of a 16-bit float, by its definition.
template <int exponent_bits, int fraction_bits>
double ValueOf(uint16_t half) {
  const double sign = half >> 15 ? -1 : 1;
  const int exponent = half >> fraction_bits & ((1 << exponent_bits) - 1);
  const int fraction = half & ((1 << fraction_bits) - 1);
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int leading = exponent == 0 ? 0 : 1 << fraction_bits;
  return sign * std::ldexp(leading + fraction,
                           std::max(exponent, 1) - bias - fraction_bits);
}

template <typename Half>
struct Traits;

template <>
struct Traits<Bfloat16> {
  static constexpr uint16_t kInfinity = 0x7f80;
  static double Value(uint16_t half) { return ValueOf<8, 7>(half); }
};

template <>
struct Traits<Float16> {
  static constexpr uint16_t kInfinity = 0x7c00;
  static double Value(uint16_t half) { return ValueOf<5, 10>(half); }
};

template <typename Half>
class HalfTest : public ::testing::Test {
 protected:
  static constexpr uint16_t kLargest = Traits<Half>::kInfinity - 1;

  // The magnitude of a finite value, rounded down to a half.
  static uint16_t Below(double magnitude) {
    uint16_t low = 0, high = Traits<Half>::kInfinity;
    while (high - low > 1) {
      const auto middle = static_cast<uint16_t>((low + high) / 2);
      (Traits<Half>::Value(middle) <= magnitude ? low : high) = middle;
    }
    return low;
  }

  // Ties go to even. Values beyond the largest half become the largest.
  static uint16_t ExpectedNearest(float value) {
    const double magnitude = std::abs(static_cast<double>(value));
    uint16_t half = Below(magnitude);
    if (half < kLargest) {
      const double down = magnitude - Traits<Half>::Value(half);
      const double up = Traits<Half>::Value(half + 1) - magnitude;
      if (up < down || (up == down && half % 2 == 1)) ++half;
    }
    return static_cast<uint16_t>(half | (std::signbit(value) ? 0x8000 : 0));
  }

  // The mean of what `value` is rounded to, over all values of the random bits.
  static double MeanOfRandom(float value) {
    double sum = 0;
    for (uint32_t random = 0; random < 65536; ++random) {
      sum += Half::ToFloat(Half::Randomly(value, random));
    }
    return sum / 65536;
  }

  // Finite numbers of all magnitudes.
  static std::vector<float> Samples(size_t count) {
    std::vector<float> samples = {
        0.0f,     -0.0f,    FLT_TRUE_MIN, -FLT_TRUE_MIN, FLT_MIN,  FLT_MAX,
        -FLT_MAX, 65504.0f, 65519.996f,   65520.0f,      65536.0f, 1.0f,
        0x1p-14f, 0x1p-24f, 0x1p-25f,     0x1.8p-25f,    0x1p-26f, -0x1.8p-24f};
    std::mt19937 random(11);
    while (samples.size() < count) {
      const float value = FloatOf(static_cast<uint32_t>(random()));
      if (std::isfinite(value)) samples.push_back(value);
      // Magnitudes around the range of float16, and of its subnormals.
      const int exponent = static_cast<int>(random() % 44) - 27;
      samples.push_back(std::ldexp(
          static_cast<float>(random() % 2000001) * 1e-6f - 1, exponent));
    }
    return samples;
  }
};

using Halves = ::testing::Types<Bfloat16, Float16>;
TYPED_TEST_SUITE(HalfTest, Halves);

TYPED_TEST(HalfTest, EveryFiniteHalfHasItsValue) {
  for (uint32_t half = 0; half < 65536; ++half) {
    if ((half & 0x7fff) >= Traits<TypeParam>::kInfinity) continue;
    const float value = TypeParam::ToFloat(static_cast<uint16_t>(half));
    ASSERT_EQ(value, Traits<TypeParam>::Value(static_cast<uint16_t>(half)));
    ASSERT_EQ(std::signbit(value), half >> 15 != 0);
  }
}

TYPED_TEST(HalfTest, EveryFiniteHalfStaysItself) {
  for (uint32_t half = 0; half < 65536; ++half) {
    if ((half & 0x7fff) >= Traits<TypeParam>::kInfinity) continue;
    const float value = TypeParam::ToFloat(static_cast<uint16_t>(half));
    ASSERT_EQ(TypeParam::Nearest(value), half);
    for (const uint32_t random : {0u, 1u, 0x1fffu, 0x8000u, 0xffffu, ~0u}) {
      ASSERT_EQ(TypeParam::Randomly(value, random), half);
    }
  }
}

TYPED_TEST(HalfTest, NearestIsTheNearest) {
  for (const float value : this->Samples(200000)) {
    ASSERT_EQ(TypeParam::Nearest(value), this->ExpectedNearest(value)) << value;
  }
}

TYPED_TEST(HalfTest, NearestOfAMiddleIsEven) {
  for (uint16_t half = 0; half < this->kLargest; ++half) {
    const double middle =
        (Traits<TypeParam>::Value(half) + Traits<TypeParam>::Value(half + 1)) /
        2;
    const auto value = static_cast<float>(middle);
    if (value != middle) continue;
    ASSERT_EQ(TypeParam::Nearest(value), half + half % 2) << value;
  }
}

TYPED_TEST(HalfTest, RandomlyGivesOneOfTheNeighbours) {
  std::mt19937 random(12);
  for (const float value : this->Samples(200000)) {
    const uint16_t below = this->Below(std::abs(static_cast<double>(value)));
    const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
    for (const uint32_t bits : {0u, 0xffffu, static_cast<uint32_t>(random())}) {
      const uint16_t half = TypeParam::Randomly(value, bits);
      ASSERT_EQ(half & 0x8000, sign);
      const uint16_t up = std::min<uint16_t>(below + 1, this->kLargest);
      ASSERT_TRUE((half & 0x7fff) == below || (half & 0x7fff) == up) << value;
    }
  }
}

TYPED_TEST(HalfTest, RandomlyHasTheValueAsItsMean) {
  for (const float value :
       {1.0001f, -1.0001f, 3.14159265f, 0.1f, 1e-3f, -7e-5f, 6.1e-5f, 5e-6f,
        1.1e-7f, 4e-8f, -3e-8f, 1234.567f, 60000.7f}) {
    const uint16_t below = this->Below(std::abs(value));
    const double step =
        Traits<TypeParam>::Value(below + 1) - Traits<TypeParam>::Value(below);
    // 65536 random values cannot resolve a smaller part of a step.
    EXPECT_NEAR(this->MeanOfRandom(value), value, step / 65536) << value;
  }
}

TYPED_TEST(HalfTest, WhatIsTooLargeBecomesTheLargest) {
  const float largest = TypeParam::ToFloat(this->kLargest);
  for (const float value : {FLT_MAX, std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(TypeParam::ToFloat(TypeParam::Nearest(value)), largest);
    EXPECT_EQ(TypeParam::ToFloat(TypeParam::Nearest(-value)), -largest);
    EXPECT_EQ(TypeParam::ToFloat(TypeParam::Randomly(value, 0xffff)), largest);
    EXPECT_EQ(TypeParam::ToFloat(TypeParam::Randomly(-value, 0)), -largest);
  }
}

TYPED_TEST(HalfTest, WhatIsNotFiniteStaysSoWhereItIsNamed) {
  constexpr uint16_t kInfinity = Traits<TypeParam>::kInfinity;
  constexpr float kFloatInfinity = std::numeric_limits<float>::infinity();
  for (const uint16_t sign : {0, 0x8000}) {
    const float infinity = sign == 0 ? kFloatInfinity : -kFloatInfinity;
    EXPECT_EQ(TypeParam::NearestOrNonFinite(infinity), sign | kInfinity);
    EXPECT_EQ(TypeParam::ToFloatOrNonFinite(sign | kInfinity), infinity);
    for (uint32_t half = kInfinity + 1; half < 0x8000; ++half) {
      const auto nan = static_cast<uint16_t>(sign | half);
      ASSERT_TRUE(std::isnan(TypeParam::ToFloatOrNonFinite(nan))) << nan;
    }
    for (const uint32_t bits : {0x7f800001u, 0x7fc00000u, 0x7fffffffu}) {
      const float nan = FloatOf(bits | static_cast<uint32_t>(sign) << 16);
      const uint16_t half = TypeParam::NearestOrNonFinite(nan);
      EXPECT_EQ(half & 0x8000, sign);
      EXPECT_GT(half & 0x7fff, kInfinity);
    }
  }
}

TYPED_TEST(HalfTest, FiniteNumbersAreTheSameBesideThoseThatAreNot) {
  for (uint32_t half = 0; half < 65536; ++half) {
    if ((half & 0x7fff) >= Traits<TypeParam>::kInfinity) continue;
    const auto bits = static_cast<uint16_t>(half);
    ASSERT_EQ(TypeParam::ToFloatOrNonFinite(bits), TypeParam::ToFloat(bits));
  }
  for (const float value : this->Samples(20000)) {
    ASSERT_EQ(TypeParam::NearestOrNonFinite(value), TypeParam::Nearest(value));
  }
}

#if defined(__FLT16_MANT_DIG__) && defined(__SSE2__)
TEST(Float16, NearestIsTheCompilersOwn) {
  std::mt19937 random(13);
  for (int i = 0; i < 300000; ++i) {
    const float value = FloatOf(static_cast<uint32_t>(random()));
    if (!(std::abs(value) < 65520.0f)) continue;
    const auto native = static_cast<_Float16>(value);
    uint16_t bits;
    std::memcpy(&bits, &native, sizeof(bits));
    ASSERT_EQ(Float16::Nearest(value), bits) << value;
  }
}
#endif

}  // namespace
}  // namespace persia
