#include "cc/wire/vector_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "cc/wire/vector_kernels.h"
#include "tests/cc/wire/frame_bytes.h"

namespace persia {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

VectorPlaces All(size_t count) { return VectorPlaces{count, 0, nullptr}; }

// Encoded vectors, at an address from which they may be decoded.
class Encoded {
 public:
  Encoded(WireDtype dtype, VectorKind kind, const std::vector<float>& all,
          VectorPlaces places, uint32_t dim)
      : words_(PaddedBytes(dtype, places.count, dim) / 8) {
    vectors_.dtype = dtype;
    auto* bytes = reinterpret_cast<uint8_t*>(words_.data());
    vectors_.bytes = ConstBytes(bytes, EncodedBytes(dtype, places.count, dim));
    EncodeVectors(dtype, kind, all.data(), places, dim, bytes);
  }

  const WireVectors& vectors() const { return vectors_; }

 private:
  std::vector<uint64_t> words_;
  WireVectors vectors_;
};

std::vector<float> RoundTrip(WireDtype dtype, VectorKind kind,
                             const std::vector<float>& all, uint32_t dim) {
  const VectorPlaces places = All(all.size() / dim);
  const Encoded encoded(dtype, kind, all, places, dim);
  std::vector<float> back(all.size(), -7.0f);
  DecodeVectors(encoded.vectors(), places, dim, back.data());
  return back;
}

std::string BytesOf(WireDtype dtype, VectorKind kind,
                    const std::vector<float>& all, uint32_t dim) {
  const Encoded encoded(dtype, kind, all, All(all.size() / dim), dim);
  return Hex(encoded.vectors().bytes);
}

// Numbers of all magnitudes below 2^highest, and some that are special.
std::vector<float> Numbers(size_t count, int lowest, int highest) {
  std::mt19937 random(1);
  std::uniform_real_distribution<double> exponent(lowest, highest);
  std::vector<float> numbers(count);
  for (float& number : numbers) {
    const double sign = random() % 2 == 0 ? 1 : -1;
    number = static_cast<float>(sign * std::exp2(exponent(random)));
  }
  numbers[0] = 0;
  numbers[1] = -0.0f;
  return numbers;
}

// ---- Bytes.

TEST(VectorCodecTest, Float32HasTheseBytes) {
  EXPECT_EQ(BytesOf(WireDtype::kFloat32, VectorKind::kRows, {1, -2}, 1),
            "0000803f000000c0");
}

TEST(VectorCodecTest, Float16RowsHaveTheseBytes) {
  EXPECT_EQ(BytesOf(WireDtype::kFloat16, VectorKind::kRows,
                    {1, -2, kInfinity, kNan}, 2),
            "0000803f00000000\n003c00c0007c007e");
}

TEST(VectorCodecTest, Float16GradientsHaveTheseBytes) {
  // 3 becomes 3 x 2^13 = 1.5 x 2^14: the scale is 2^-13.
  EXPECT_EQ(BytesOf(WireDtype::kFloat16, VectorKind::kGradients,
                    {1, -3, -kInfinity, 0}, 2),
            "0000003900000000\n007000f600fc0000");
}

TEST(VectorCodecTest, Bfloat16HasTheseBytes) {
  EXPECT_EQ(BytesOf(WireDtype::kBfloat16, VectorKind::kRows,
                    {1, -2, kInfinity, kNan}, 2),
            "803f00c0807fc07f");
}

TEST(VectorCodecTest, Int8HasTheseBytes) {
  // Scales 1 and 2, then the numbers.
  EXPECT_EQ(BytesOf(WireDtype::kInt8, VectorKind::kRows, {127, -3, 6, -254}, 2),
            "0000803f00000040\n7ffd0381");
}

TEST(VectorCodecTest, Int4HasTheseBytes) {
  // Scales 1 and 2, then the numbers: the third is in the low half of a byte.
  EXPECT_EQ(
      BytesOf(WireDtype::kInt4, VectorKind::kRows, {7, -3, 6, -14, 2, 4}, 3),
      "803f0040670d2901");
}

TEST(VectorCodecTest, NoVectorsAreFewBytes) {
  EXPECT_EQ(EncodedBytes(WireDtype::kFloat32, 0, 8), 0u);
  EXPECT_EQ(EncodedBytes(WireDtype::kFloat16, 0, 8), 8u);
  EXPECT_EQ(EncodedBytes(WireDtype::kBfloat16, 0, 8), 0u);
  EXPECT_EQ(EncodedBytes(WireDtype::kInt8, 0, 8), 0u);
  EXPECT_EQ(EncodedBytes(WireDtype::kInt4, 0, 8), 0u);
  EXPECT_EQ(EncodedBytes(WireDtype::kInt4, 3, 7), 18u);
  EXPECT_EQ(PaddedBytes(WireDtype::kInt8, 1, 3), 8u);
  EXPECT_EQ(PaddedBytes(WireDtype::kInt8, 1, 5), 16u);
}

// ---- Numbers, against what one at a time gives.

// The nearest multiple of 2^step, ties to even.
double NearestMultiple(double value, int step) {
  return std::ldexp(std::nearbyint(std::ldexp(value, -step)), step);
}

// The nearest number with `bits` significant bits, of which none is below
// 2^least.
double NearestOf(double value, int bits, int least) {
  int exponent;
  std::frexp(value, &exponent);
  return NearestMultiple(value, std::max(exponent - bits, least));
}

TEST(VectorCodecTest, Float16RowsAreTheNearest) {
  const std::vector<float> rows = Numbers(4000, -30, 15.9);
  const std::vector<float> back =
      RoundTrip(WireDtype::kFloat16, VectorKind::kRows, rows, 16);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(back[i], NearestOf(rows[i], 11, -24)) << rows[i];
    EXPECT_EQ(std::signbit(back[i]), std::signbit(rows[i]));
  }
}

TEST(VectorCodecTest, Bfloat16NumbersAreTheNearest) {
  const std::vector<float> rows = Numbers(4000, -120, 127);
  const std::vector<float> back =
      RoundTrip(WireDtype::kBfloat16, VectorKind::kRows, rows, 16);
  for (size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(back[i], NearestOf(rows[i], 8, -133)) << rows[i];
  }
}

TEST(VectorCodecTest, TiesGoToEven) {
  // Between 1 and 1 + 2^-10, then between that and 1 + 2^-9.
  EXPECT_EQ(RoundTrip(WireDtype::kFloat16, VectorKind::kRows,
                      {1 + 0x1p-11f, 1 + 0x3p-11f}, 1),
            (std::vector<float>{1, 1 + 0x1p-9f}));
  EXPECT_EQ(RoundTrip(WireDtype::kBfloat16, VectorKind::kRows,
                      {1 + 0x1p-8f, 1 + 0x3p-8f}, 1),
            (std::vector<float>{1, 1 + 0x1p-6f}));
  EXPECT_EQ(RoundTrip(WireDtype::kInt8, VectorKind::kRows,
                      {127, 0.5f, 1.5f, -2.5f, -3.5f}, 5),
            (std::vector<float>{127, 0, 2, -2, -4}));
}

TEST(VectorCodecTest, Int8NumbersAreTheNearestOfTheirVectorsScale) {
  for (const uint32_t dim : {1u, 3u, 8u, 16u, 33u}) {
    const std::vector<float> rows = Numbers(33 * 80, -12, 12);
    const size_t count = rows.size() / dim;
    const std::vector<float> back =
        RoundTrip(WireDtype::kInt8, VectorKind::kGradients,
                  {rows.begin(), rows.begin() + count * dim}, dim);
    for (size_t i = 0; i < count; ++i) {
      float largest = 0;
      for (size_t d = 0; d < dim; ++d) {
        largest = std::max(largest, std::abs(rows[i * dim + d]));
      }
      for (size_t d = 0; d < dim; ++d) {
        const size_t at = i * dim + d;
        const float inverse = largest == 0 ? 0 : 127.0f / largest;
        EXPECT_EQ(back[at],
                  std::nearbyint(rows[at] * inverse) * (largest / 127.0f))
            << rows[at] << " of " << largest;
      }
    }
  }
}

// ---- Scales.

TEST(VectorCodecTest, Float16GradientsOfAnySizeKeepElevenBits) {
  for (const int size : {-149, -140, -60, -20, 0, 20, 100, 127}) {
    std::vector<float> gradients = Numbers(64, -13, 0);
    for (float& gradient : gradients) {
      gradient = std::ldexp(gradient, size);
    }
    const std::vector<float> back =
        RoundTrip(WireDtype::kFloat16, VectorKind::kGradients, gradients, 4);
    for (size_t i = 0; i < gradients.size(); ++i) {
      EXPECT_EQ(back[i], NearestOf(gradients[i], 11, -149)) << gradients[i];
    }
  }
}

TEST(VectorCodecTest, OneInfinityDoesNotDrownSmallFloat16Gradients) {
  const std::vector<float> back =
      RoundTrip(WireDtype::kFloat16, VectorKind::kGradients,
                {kInfinity, 1e-12f, kNan, 3e-12f}, 1);
  EXPECT_EQ(back[0], kInfinity);
  EXPECT_NEAR(back[1], 1e-12f, 1e-15f);
  EXPECT_TRUE(std::isnan(back[2]));
  EXPECT_NEAR(back[3], 3e-12f, 3e-15f);
}

TEST(VectorCodecTest, Float16RowsAreScaledOnlyBeyondItsRange) {
  // With any scale above 1, the second number would become 0.
  EXPECT_EQ(
      RoundTrip(WireDtype::kFloat16, VectorKind::kRows, {65504, 0x1p-24f}, 1),
      (std::vector<float>{65504, 0x1p-24f}));
  EXPECT_EQ(RoundTrip(WireDtype::kFloat16, VectorKind::kRows, {0x1p100f, 1}, 1),
            (std::vector<float>{0x1p100f, 0}));
}

TEST(VectorCodecTest, LargeNumbersStayFinite) {
  for (const VectorKind kind : {VectorKind::kRows, VectorKind::kGradients}) {
    for (const WireDtype dtype :
         {WireDtype::kFloat16, WireDtype::kBfloat16, WireDtype::kInt8}) {
      EXPECT_TRUE(std::isfinite(RoundTrip(dtype, kind, {-3.4e38f}, 1)[0]));
    }
    for (const WireDtype dtype : {WireDtype::kBfloat16, WireDtype::kInt4}) {
      EXPECT_TRUE(std::isfinite(RoundTrip(dtype, kind, {FLT_MAX}, 1)[0]));
    }
  }
}

TEST(VectorCodecTest, Int8VectorsTooSmallToDivideByAreZero) {
  EXPECT_EQ(
      RoundTrip(WireDtype::kInt8, VectorKind::kGradients, {1e-45f, 0, 0, 0}, 2),
      std::vector<float>(4, 0.0f));
  EXPECT_NEAR(
      RoundTrip(WireDtype::kInt8, VectorKind::kGradients, {1e-36f}, 1)[0],
      1e-36f, 1e-41f);
}

// ---- What is not finite.

TEST(VectorCodecTest, WhatIsNotFiniteStaysSo) {
  const std::vector<float> numbers = {1, kInfinity, -kInfinity, kNan};
  for (const WireDtype dtype :
       {WireDtype::kFloat32, WireDtype::kFloat16, WireDtype::kBfloat16}) {
    for (const VectorKind kind : {VectorKind::kRows, VectorKind::kGradients}) {
      const std::vector<float> back = RoundTrip(dtype, kind, numbers, 4);
      EXPECT_EQ(back[0], 1);
      EXPECT_EQ(back[1], kInfinity);
      EXPECT_EQ(back[2], -kInfinity);
      EXPECT_TRUE(std::isnan(back[3]));
    }
  }
}

TEST(VectorCodecTest, NanWithLowBitsAloneStaysNan) {
  float nan;
  const uint32_t bits = 0xff800001;
  std::memcpy(&nan, &bits, sizeof(nan));
  for (const WireDtype dtype : {WireDtype::kFloat16, WireDtype::kBfloat16,
                                WireDtype::kInt8, WireDtype::kInt4}) {
    EXPECT_TRUE(std::isnan(RoundTrip(dtype, VectorKind::kRows, {nan}, 1)[0]));
  }
}

TEST(VectorCodecTest, AnInt8VectorThatIsNotFiniteIsNanAlone) {
  const std::vector<float> back =
      RoundTrip(WireDtype::kInt8, VectorKind::kGradients,
                {1, kInfinity, 2, 2, kNan, 0}, 2);
  for (const size_t i : {0, 1, 4, 5}) EXPECT_TRUE(std::isnan(back[i])) << i;
  EXPECT_EQ(back[2], 2);
  EXPECT_EQ(back[3], 2);
}

// ---- Places.

class VectorPlacesTest
    : public testing::TestWithParam<std::tuple<WireDtype, uint32_t>> {};

INSTANTIATE_TEST_SUITE_P(
    All, VectorPlacesTest,
    testing::Combine(testing::Values(WireDtype::kFloat32, WireDtype::kFloat16,
                                     WireDtype::kBfloat16, WireDtype::kInt8,
                                     WireDtype::kInt4),
                     testing::Values(1, 7, 8, 16, 32, 64, 100)));

TEST_P(VectorPlacesTest, AreReadAndWrittenAlone) {
  const auto [dtype, dim] = GetParam();
  constexpr size_t kCount = 20;
  const std::vector<float> all = Numbers(kCount * dim, -3, 3);
  const std::vector<float> whole =
      RoundTrip(dtype, VectorKind::kRows, all, dim);
  const std::vector<uint32_t> indices = {3, 17, 0, 4};
  for (const VectorPlaces places :
       {VectorPlaces{4, 0, indices.data()}, VectorPlaces{5, 6, nullptr},
        VectorPlaces{0, 2, nullptr}}) {
    const Encoded encoded(dtype, VectorKind::kRows, all, places, dim);
    std::vector<float> expected(all.size(), -7.0f);
    for (size_t i = 0; i < places.count; ++i) {
      std::copy_n(whole.begin() + places[i] * dim, dim,
                  expected.begin() + places[i] * dim);
    }
    std::vector<float> back(all.size(), -7.0f);
    DecodeVectors(encoded.vectors(), places, dim, back.data());
    EXPECT_EQ(back, expected);
  }
}

// The state of rows may have no numbers. A sanitizer finds reads of memory that
// must not be read.
TEST(VectorKernelsTest, VectorsWithoutNumbersNeedNoMemory) {
  const std::vector<uint32_t> indices = {1, 0};
  const VectorPlaces places{indices.size(), 0, indices.data()};
  GatherFloats(nullptr, places, 0, nullptr);
  ScatterFloats(nullptr, places, 0, nullptr);
}

}  // namespace
}  // namespace persia
