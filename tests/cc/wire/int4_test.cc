#include "cc/wire/int4.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

namespace persia {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr size_t kDims[] = {1, 2, 3, 7, 8, 15, 16, 31, 32, 33, 64, 100};

struct Encoded {
  std::vector<uint16_t> scales;
  std::vector<uint8_t> integers;

  bool operator==(const Encoded& other) const {
    return scales == other.scales && integers == other.integers;
  }
};

VectorPlaces All(size_t count) { return VectorPlaces{count, 0, nullptr}; }

Encoded Encode(const std::vector<float>& all, size_t dim) {
  const size_t count = all.size() / dim;
  // The first byte of each must be written, and the last.
  Encoded encoded{std::vector<uint16_t>(count, 0xffff),
                  std::vector<uint8_t>(count * Int4Bytes(dim), 0xee)};
  GatherInt4(all.data(), All(count), dim, encoded.scales.data(),
             encoded.integers.data());
  return encoded;
}

std::vector<float> Decode(const Encoded& encoded, size_t dim) {
  std::vector<float> all(encoded.scales.size() * dim, -9.0f);
  ScatterInt4(encoded.scales.data(), encoded.integers.data(),
              All(encoded.scales.size()), dim, all.data());
  return all;
}

std::vector<float> RoundTrip(const std::vector<float>& all, size_t dim) {
  return Decode(Encode(all, dim), dim);
}

// Numbers of many magnitudes, within a vector and from vector to vector.
std::vector<float> Numbers(size_t count, size_t dim, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::uniform_int_distribution<int> exponent(-100, 100);
  std::vector<float> numbers;
  for (size_t i = 0; i < count; ++i) {
    const int size = exponent(random);
    for (size_t d = 0; d < dim; ++d) {
      const float tail = d % 5 == 4 ? 1e-3f : 1;
      numbers.push_back(std::ldexp(normal(random) * tail, size));
    }
  }
  return numbers;
}

float LargestOf(const float* vector, size_t dim) {
  float largest = 0;
  for (size_t d = 0; d < dim; ++d) {
    largest = std::max(largest, std::abs(vector[d]));
  }
  return largest;
}

// One number at a time, in double precision.
struct Reference {
  explicit Reference(float largest) {
    int exponent;
    const double exact = static_cast<double>(largest / 7.0f);
    std::frexp(exact, &exponent);
    const double step = std::ldexp(1, exponent - 8);
    scale = std::floor(exact / step) * step;
    if (scale < 0x1p-126) scale = 0;
  }

  int IntegerOf(float number) const {
    if (scale == 0) return 0;
    const auto inverse = static_cast<float>(1 / scale);
    return static_cast<int>(std::nearbyint(number * inverse));
  }

  double scale;
};

int SignedOf(uint32_t bits) {
  return static_cast<int>(bits) - (bits > 7 ? 16 : 0);
}

TEST(Int4Test, EqualsOneNumberAtATime) {
  for (const size_t dim : kDims) {
    constexpr size_t kCount = 100;
    const std::vector<float> all = Numbers(kCount, dim);
    const Encoded encoded = Encode(all, dim);
    const std::vector<float> decoded = Decode(encoded, dim);
    for (size_t i = 0; i < kCount; ++i) {
      const float* const vector = &all[i * dim];
      const uint8_t* const bytes = &encoded.integers[i * Int4Bytes(dim)];
      const Reference reference(LargestOf(vector, dim));
      ASSERT_EQ(Bfloat16::ToFloat(encoded.scales[i]), reference.scale);
      for (size_t d = 0; d < dim; ++d) {
        const size_t half = Int4Bytes(dim);
        const uint32_t bits = d < half ? bytes[d] & 15 : bytes[d - half] >> 4;
        ASSERT_EQ(SignedOf(bits), reference.IntegerOf(vector[d]))
            << "dim " << dim << ", number " << d;
        ASSERT_EQ(decoded[i * dim + d], SignedOf(bits) * reference.scale);
      }
      if (dim % 2 == 1) {
        ASSERT_EQ(bytes[Int4Bytes(dim) - 1] >> 4, 0);
      }
    }
  }
}

TEST(Int4Test, NoNumberIsOffByMoreThanHalfAStep) {
  for (const size_t dim : kDims) {
    const std::vector<float> all = Numbers(100, dim);
    const std::vector<float> decoded = RoundTrip(all, dim);
    for (size_t i = 0; i < all.size(); ++i) {
      const float largest = LargestOf(&all[i / dim * dim], dim);
      ASSERT_LE(std::abs(decoded[i] - all[i]), largest / 14 * (1 + 1e-6f));
      ASSERT_LE(std::abs(decoded[i]), largest);
    }
  }
}

TEST(Int4Test, ADecodedVectorIsEncodedAsBefore) {
  for (const size_t dim : kDims) {
    const Encoded encoded = Encode(Numbers(100, dim), dim);
    EXPECT_EQ(Encode(Decode(encoded, dim), dim), encoded) << dim;
  }
}

TEST(Int4Test, NegatedNumbersAreNegated) {
  std::vector<float> all = Numbers(50, 9);
  const std::vector<float> decoded = RoundTrip(all, 9);
  for (float& number : all) number = -number;
  const std::vector<float> negated = RoundTrip(all, 9);
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(negated[i], -decoded[i]);
}

TEST(Int4Test, ExtremeVectors) {
  EXPECT_EQ(RoundTrip({0, -0.0f, 0}, 3), std::vector<float>(3, 0));
  // Without a normal scale, a vector is zeros.
  EXPECT_EQ(RoundTrip({1e-45f, -1e-40f, FLT_MIN}, 3), std::vector<float>(3, 0));
  EXPECT_EQ(RoundTrip({7 * FLT_MIN, -FLT_MIN}, 2),
            (std::vector<float>{7 * FLT_MIN, -FLT_MIN}));
  EXPECT_EQ(RoundTrip({3.5f}, 1), std::vector<float>{3.5f});
  const std::vector<float> largest = RoundTrip({FLT_MAX, -FLT_MAX, 1}, 3);
  EXPECT_TRUE(std::isfinite(largest[0]));
  EXPECT_NEAR(largest[0] / FLT_MAX, 1, 0x1p-7);
  EXPECT_EQ(largest[1], -largest[0]);
  EXPECT_EQ(largest[2], 0);
}

TEST(Int4Test, AVectorThatIsNotFiniteIsNanAlone) {
  const std::vector<float> decoded =
      RoundTrip({7, -7, 1, kInfinity, kNan, 1, -kInfinity, 0, 14, 2}, 2);
  for (const size_t i : {2, 3, 4, 5, 6, 7}) {
    EXPECT_TRUE(std::isnan(decoded[i])) << i;
  }
  EXPECT_EQ(decoded[0], 7);
  EXPECT_EQ(decoded[1], -7);
  EXPECT_EQ(decoded[8], 14);
  EXPECT_EQ(decoded[9], 2);
}

TEST(Int4Test, VectorsAreReadAndWrittenAtTheirPlaces) {
  const std::vector<float> all = Numbers(5, 4);
  const std::vector<float> whole = RoundTrip(all, 4);
  const std::vector<uint32_t> indices = {4, 1};
  const VectorPlaces places{2, 0, indices.data()};
  std::vector<uint16_t> scales(2);
  std::vector<uint8_t> integers(4);
  GatherInt4(all.data(), places, 4, scales.data(), integers.data());
  std::vector<float> decoded(all.size(), -9.0f);
  ScatterInt4(scales.data(), integers.data(), places, 4, decoded.data());
  for (size_t i = 0; i < all.size(); ++i) {
    const bool placed = i / 4 == 1 || i / 4 == 4;
    EXPECT_EQ(decoded[i], placed ? whole[i] : -9.0f) << i;
  }
}

// ---- Error feedback.

TEST(Int4Test, AResidualIsWhatTheEncodingLost) {
  for (const size_t dim : kDims) {
    const std::vector<float> gradient = Numbers(1, dim, 5);
    std::vector<float> residual(dim, LargestOf(gradient.data(), dim) / 40);
    const std::vector<float> before = residual;
    std::vector<float> sum(dim);
    ASSERT_TRUE(
        FeedBackInt4(gradient.data(), dim, residual.data(), sum.data()));
    const std::vector<float> decoded = RoundTrip(sum, dim);
    for (size_t d = 0; d < dim; ++d) {
      EXPECT_EQ(sum[d], gradient[d] + before[d]);
      // The difference needs no rounding, so nothing is lost.
      EXPECT_EQ(static_cast<double>(residual[d]),
                static_cast<double>(sum[d]) - decoded[d]);
    }
  }
}

TEST(Int4Test, WhatIsSentFollowsTheSumOfGradients) {
  constexpr size_t kDim = 17;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> residual(kDim), sum(kDim), gradient(kDim);
  std::vector<double> given(kDim), sent(kDim);
  for (int step = 0; step < 2000; ++step) {
    // The last numbers are below half a step, so without feedback they would
    // never be sent.
    for (size_t d = 0; d < kDim; ++d) {
      gradient[d] = normal(random) + 0.01f * static_cast<float>(d);
      if (d > 10) gradient[d] = 0.02f;
      given[d] += gradient[d];
    }
    ASSERT_TRUE(
        FeedBackInt4(gradient.data(), kDim, residual.data(), sum.data()));
    const std::vector<float> decoded = RoundTrip(sum, kDim);
    const float half = LargestOf(sum.data(), kDim) / 14;
    for (size_t d = 0; d < kDim; ++d) {
      sent[d] += decoded[d];
      ASSERT_LE(std::abs(given[d] - sent[d]), half + 1e-3) << step;
    }
  }
}

TEST(Int4Test, ASumThatIsNotFiniteLeavesTheResidual) {
  const std::vector<float> before = {0.25f, -0.5f};
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    const std::vector<float> gradient = {1, bad};
    std::vector<float> residual = before, sum(2);
    EXPECT_FALSE(FeedBackInt4(gradient.data(), 2, residual.data(), sum.data()));
    EXPECT_EQ(residual, before);
    for (const float number : RoundTrip(sum, 2)) {
      EXPECT_TRUE(std::isnan(number));
    }
    TakeBackInt4(gradient.data(), sum.data(), 2, residual.data());
    EXPECT_EQ(residual, before);
  }
}

// Also after later gradients.
TEST(Int4Test, WhatWasNotDeliveredIsTakenBack) {
  const std::vector<float> first = {4, 1.1f, -2.3f}, second = {-3, 2.7f, 0.4f};
  const std::vector<float> before = {0.3f, 0, -0.1f};
  std::vector<float> residual = before, sum1(3), sum2(3);
  FeedBackInt4(first.data(), 3, residual.data(), sum1.data());
  FeedBackInt4(second.data(), 3, residual.data(), sum2.data());
  TakeBackInt4(first.data(), sum1.data(), 3, residual.data());
  const std::vector<float> delivered = RoundTrip(sum2, 3);
  for (size_t d = 0; d < 3; ++d) {
    EXPECT_NEAR(delivered[d] + residual[d], before[d] + second[d], 1e-6f);
  }
  TakeBackInt4(second.data(), sum2.data(), 3, residual.data());
  for (size_t d = 0; d < 3; ++d) EXPECT_NEAR(residual[d], before[d], 1e-6f);
}

}  // namespace
}  // namespace persia
