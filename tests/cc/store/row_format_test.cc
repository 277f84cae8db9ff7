#include "cc/store/row_format.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cc/store/half.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

using Floats = std::vector<float>;

constexpr const char* kDtypes[] = {"float32", "bfloat16", "float16", "int8"};
constexpr float kUntouched = -77;

std::unique_ptr<RowFormat> FormatOf(const std::string& dtype) {
  return std::move(MakeRowFormat(SpecOf(dtype)).value());
}

// A row's bytes, aligned as rows are.
class RowBytes {
 public:
  RowBytes(const RowFormat& format, size_t dim)
      : size_(format.weight_bytes(dim)), words_(size_ / 4 + 2, 0x5a5a5a5a) {}

  std::byte* data() { return reinterpret_cast<std::byte*>(words_.data()); }

  bool EndIsIntact() {
    return std::all_of(data() + size_, data() + 4 * words_.size(),
                       [](std::byte b) { return b == std::byte{0x5a}; });
  }

 private:
  const size_t size_;
  std::vector<uint32_t> words_;
};

Floats ReadRow(const RowFormat& format, std::byte* row, size_t dim) {
  Floats weights(dim, kUntouched);
  const uint32_t place = 0;
  format.Read(&row, &place, 1, dim, weights.data());
  return weights;
}

Floats WriteAndRead(const std::string& dtype, const Floats& weights) {
  const auto format = FormatOf(dtype);
  RowBytes row(*format, weights.size());
  format->Write(weights.data(), weights.size(), row.data());
  EXPECT_TRUE(row.EndIsIntact()) << dtype << weights.size();
  return ReadRow(*format, row.data(), weights.size());
}

Floats WriteRandomlyAndRead(const std::string& dtype, const Floats& weights,
                            uint64_t random) {
  const auto format = FormatOf(dtype);
  RowBytes row(*format, weights.size());
  format->Write(weights.data(), weights.size(), row.data());
  format->WriteRandomly(weights.data(), weights.size(), random, row.data());
  EXPECT_TRUE(row.EndIsIntact()) << dtype << weights.size();
  return ReadRow(*format, row.data(), weights.size());
}

Floats RandomRow(size_t dim, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0, 0.1f);
  Floats row(dim);
  for (float& weight : row) weight = normal(random);
  return row;
}

// The largest distance between neighbouring values that a row of `dtype` can
// hold there.
float StepAt(const std::string& dtype, const Floats& row, size_t d) {
  const float magnitude = std::abs(row[d]);
  if (dtype == "bfloat16") return magnitude * 0x1p-7f;
  if (dtype == "float16") return std::max(magnitude * 0x1p-10f, 0x1p-24f);
  if (dtype == "float32") return 0;
  float largest = 0;
  for (const float weight : row) largest = std::max(largest, std::abs(weight));
  return largest / 63;
}

TEST(RowFormat, SizesAreAsDescribed) {
  EXPECT_EQ(FormatOf("float32")->weight_bytes(5), 20u);
  EXPECT_EQ(FormatOf("bfloat16")->weight_bytes(5), 10u);
  EXPECT_EQ(FormatOf("float16")->weight_bytes(5), 10u);
  EXPECT_EQ(FormatOf("int8")->weight_bytes(5), 9u);
}

TEST(RowFormat, OnlyFloat32IsChangedInPlace) {
  for (const std::string dtype : kDtypes) {
    EXPECT_EQ(FormatOf(dtype)->in_place(), dtype == "float32");
  }
}

TEST(RowFormat, WriteIsOffByHalfAStep) {
  for (const std::string dtype : kDtypes) {
    for (size_t dim = 1; dim <= 40; ++dim) {
      const Floats row = RandomRow(dim, static_cast<uint32_t>(dim));
      const Floats read = WriteAndRead(dtype, row);
      for (size_t d = 0; d < dim; ++d) {
        ASSERT_NEAR(read[d], row[d], 0.5001f * StepAt(dtype, row, d))
            << dtype << " " << dim;
      }
    }
  }
}

TEST(RowFormat, WriteRandomlyIsOffByLessThanAStep) {
  for (const std::string dtype : kDtypes) {
    for (size_t dim = 1; dim <= 40; ++dim) {
      const Floats row = RandomRow(dim, static_cast<uint32_t>(dim));
      for (uint64_t random = 0; random < 10; ++random) {
        const Floats read = WriteRandomlyAndRead(dtype, row, random);
        for (size_t d = 0; d < dim; ++d) {
          ASSERT_NEAR(read[d], row[d], 1.0001f * StepAt(dtype, row, d))
              << dtype << " " << dim;
        }
      }
    }
  }
}

TEST(RowFormat, WhatARowHoldsStaysAsItIs) {
  for (const std::string dtype : kDtypes) {
    for (size_t dim = 1; dim <= 40; ++dim) {
      const Floats held = WriteAndRead(dtype, RandomRow(dim, 1));
      const Floats again = WriteAndRead(dtype, held);
      for (size_t d = 0; d < dim; ++d) ASSERT_FLOAT_EQ(again[d], held[d]);
    }
  }
}

TEST(RowFormat, WriteRandomlyHasTheWeightsAsItsMean) {
  constexpr int kTimes = 20000;
  const Floats row = {0.1f, -0.3f, 0.77777f, 1e-3f, -1.23456f, 0, 1.0001f};
  for (const std::string dtype : kDtypes) {
    std::vector<double> sums(row.size());
    for (uint64_t random = 0; random < kTimes; ++random) {
      const Floats read = WriteRandomlyAndRead(dtype, row, random);
      for (size_t d = 0; d < row.size(); ++d) sums[d] += read[d];
    }
    for (size_t d = 0; d < row.size(); ++d) {
      // The deviation of one rounding is half a step at most; the bound is five
      // deviations of the mean.
      const double bound = 5 * 0.5 * StepAt(dtype, row, d) / std::sqrt(kTimes);
      EXPECT_NEAR(sums[d] / kTimes, row[d], bound + 1e-7) << dtype << " " << d;
    }
  }
}

TEST(RowFormat, WriteRandomlyDependsOnItsSeedAlone) {
  const Floats row = RandomRow(33, 2);
  for (const std::string dtype : kDtypes) {
    const Floats read = WriteRandomlyAndRead(dtype, row, 5);
    EXPECT_EQ(WriteRandomlyAndRead(dtype, row, 5), read);
    if (dtype != "float32") {
      EXPECT_NE(WriteRandomlyAndRead(dtype, row, 6), read);
    }
  }
}

TEST(RowFormat, WriteRandomlyRoundsEachWeightByItself) {
  const Floats row(64, 1.003f);
  for (const std::string dtype : {"bfloat16", "float16"}) {
    const Floats read = WriteRandomlyAndRead(dtype, row, 1);
    EXPECT_NE(std::count(read.begin(), read.end(), read[0]), 64) << dtype;
  }
}

// Loops read many weights at a time, and the remaining ones one by one.
template <typename Half>
void ExpectReadsEachAsOne(const std::string& dtype) {
  const auto format = FormatOf(dtype);
  for (size_t dim = 1; dim <= 40; ++dim) {
    const Floats row = RandomRow(dim, static_cast<uint32_t>(3 * dim));
    const Floats read = WriteAndRead(dtype, row);
    for (size_t d = 0; d < dim; ++d) {
      ASSERT_EQ(read[d], Half::ToFloat(Half::Nearest(row[d])));
    }
  }
}

TEST(RowFormat, ReadsHalvesAsOneByOne) {
  ExpectReadsEachAsOne<Bfloat16>("bfloat16");
  ExpectReadsEachAsOne<Float16>("float16");
}

TEST(RowFormat, WritesOfAnyLengthRoundAPrefixAlike) {
  const Floats row = RandomRow(40, 4);
  for (const std::string dtype : {"bfloat16", "float16"}) {
    const Floats whole = WriteRandomlyAndRead(dtype, row, 9);
    for (size_t dim = 1; dim < 40; ++dim) {
      const Floats part(row.begin(), row.begin() + static_cast<long>(dim));
      const Floats read = WriteRandomlyAndRead(dtype, part, 9);
      ASSERT_TRUE(std::equal(read.begin(), read.end(), whole.begin())) << dim;
    }
  }
}

TEST(RowFormat, ReadsRowsToTheirPlacesAndSkipsNulls) {
  for (const std::string dtype : kDtypes) {
    const auto format = FormatOf(dtype);
    for (const size_t dim : {1, 3, 16, 17, 33}) {
      std::vector<RowBytes> rows(3, RowBytes(*format, dim));
      Floats expected(6 * dim, kUntouched);
      const std::byte* pointers[] = {rows[0].data(), nullptr, rows[1].data(),
                                     nullptr, rows[2].data()};
      const uint32_t places[] = {5, 4, 0, 1, 3};
      for (size_t i : {0, 2, 4}) {
        // All dtypes hold these weights exactly.
        const Floats weights(dim, static_cast<float>(i + 1));
        format->Write(weights.data(), dim, rows[i / 2].data());
        std::copy(weights.begin(), weights.end(),
                  expected.begin() + static_cast<long>(places[i] * dim));
      }
      Floats out(6 * dim, kUntouched);
      format->Read(pointers, places, 5, dim, out.data());
      for (size_t i = 0; i < out.size(); ++i) {
        ASSERT_FLOAT_EQ(out[i], expected[i]) << dtype << " " << dim;
      }
    }
  }
}

TEST(RowFormat, HoldsZerosExactly) {
  for (const std::string dtype : kDtypes) {
    EXPECT_EQ(WriteAndRead(dtype, Floats(9, 0)), Floats(9, 0));
    EXPECT_EQ(WriteRandomlyAndRead(dtype, Floats(9, 0), 3), Floats(9, 0));
  }
}

TEST(RowFormat, FiniteWeightsStayFinite) {
  const Floats row = {FLT_MAX, -FLT_MAX, FLT_TRUE_MIN, 1, 0, FLT_MAX / 2};
  for (const std::string dtype : kDtypes) {
    for (uint64_t random = 0; random < 50; ++random) {
      for (const float weight : WriteRandomlyAndRead(dtype, row, random)) {
        ASSERT_TRUE(std::isfinite(weight)) << dtype;
      }
    }
    for (const float weight : WriteAndRead(dtype, row)) {
      ASSERT_TRUE(std::isfinite(weight)) << dtype;
    }
  }
}

// All dtypes hold powers of two exactly, and so the bound.
TEST(RowFormat, WriteRandomlyStaysWithinAPowerOfTwo) {
  for (const std::string dtype : kDtypes) {
    const auto format = FormatOf(dtype);
    RowBytes bytes(*format, 16);
    for (uint32_t seed = 0; seed < 500; ++seed) {
      Floats row = RandomRow(16, seed);
      for (float& w : row) w = std::min(std::max(w, -0.125f), 0.125f);
      if (seed == 0) format->Write(row.data(), 16, bytes.data());
      format->WriteRandomly(row.data(), 16, seed, bytes.data());
      for (const float weight : ReadRow(*format, bytes.data(), 16)) {
        ASSERT_LE(std::abs(weight), 0.125f) << dtype;
      }
    }
  }
}

TEST(RowFormat, WriteRandomlyKeepsAWeightThatItCanHold) {
  for (const std::string dtype : kDtypes) {
    const auto format = FormatOf(dtype);
    RowBytes bytes(*format, 64);
    const Floats row = RandomRow(64, 5);
    format->Write(row.data(), 64, bytes.data());
    const Floats held = ReadRow(*format, bytes.data(), 64);
    for (uint64_t random = 0; random < 1000; ++random) {
      format->WriteRandomly(held.data(), 64, random, bytes.data());
      ASSERT_EQ(ReadRow(*format, bytes.data(), 64), held) << dtype;
    }
  }
}

// A row of int8 weights that a test trains.
class Int8Row {
 public:
  explicit Int8Row(const Floats& weights)
      : format_(FormatOf("int8")), bytes_(*format_, weights.size()) {
    format_->Write(weights.data(), weights.size(), bytes_.data());
    dim_ = weights.size();
  }

  Floats Read() { return ReadRow(*format_, bytes_.data(), dim_); }

  void WriteRandomly(const Floats& weights, uint64_t random) {
    format_->WriteRandomly(weights.data(), dim_, random, bytes_.data());
  }

  float scale() {
    float scale;
    std::memcpy(&scale, bytes_.data(), sizeof(scale));
    return scale;
  }

 private:
  const std::unique_ptr<RowFormat> format_;
  RowBytes bytes_;
  size_t dim_;
};

TEST(Int8Format, ScalesByTheLeastPowerOfTwoThatHoldsTheLargest) {
  EXPECT_EQ(Int8Row({0.5f, -1.5f}).scale(), 0x1p-6f);
  EXPECT_EQ(Int8Row({1.0f}).scale(), 0x1p-6f);
  EXPECT_EQ(Int8Row({127.0f}).scale(), 1.0f);
  EXPECT_EQ(Int8Row({std::nextafter(127.0f, 128.0f)}).scale(), 2.0f);
  EXPECT_EQ(Int8Row({-127.5f}).scale(), 2.0f);
  EXPECT_EQ(Int8Row({0, 128.0f}).scale(), 2.0f);
}

TEST(Int8Format, AWeightWithoutAGradientStaysAsAnotherMoves) {
  Int8Row row({1.2f, 0.3f, -0.7f, 0.01f});
  const Floats first = row.Read();
  for (uint64_t step = 0; step < 2000; ++step) {
    Floats weights = row.Read();
    weights[0] = 1.2f + 0.5f * std::sin(0.01f * static_cast<float>(step));
    row.WriteRandomly(weights, step);
    const Floats read = row.Read();
    for (size_t d = 1; d < 4; ++d) ASSERT_EQ(read[d], first[d]) << step;
  }
}

TEST(Int8Format, ALargestWeightNearABoundaryDoesNotFlap) {
  // The least scale that suffices is 1 or 2 by turns for the first boundary,
  // and 1/2 or 1 for the second.
  for (const float boundary : {127.0f, 63.5f}) {
    Int8Row row({boundary, 33, -5});
    int changes = 0;
    for (uint64_t step = 0; step < 1000; ++step) {
      const float before = row.scale();
      Floats weights = row.Read();
      weights[0] = boundary * (step % 2 == 0 ? 1.01f : 0.99f);
      row.WriteRandomly(weights, step);
      changes += row.scale() != before;
    }
    EXPECT_LE(changes, 1) << boundary;
  }
}

// Whenever the scale doubles, an odd number is rounded by half a new step. If
// every update rounded, 2000 of them would add up.
TEST(Int8Format, AGrowingLargestWeightMovesOthersByAStepAtMost) {
  double squares = 0;
  constexpr int kRows = 200;
  for (uint64_t seed = 0; seed < kRows; ++seed) {
    Int8Row row({1, 0.3f, -0.7f});
    for (uint64_t step = 0; step < 2000; ++step) {
      Floats weights = row.Read();
      weights[0] = 1 + 0.007f * static_cast<float>(step);
      row.WriteRandomly(weights, seed * 2000 + step);
    }
    ASSERT_EQ(row.scale(), 0x1p-3f);
    // The scale becomes 1/32, 1/16 and 1/8, and each change moves the weight by
    // less than a step of the new scale.
    EXPECT_NEAR(row.Read()[1], 0.3f, 0.22f);
    squares += std::pow(row.Read()[1] - 0.3f, 2);
  }
  EXPECT_LT(std::sqrt(squares / kRows), 0x1p-3f);
}

TEST(Int8Format, TheScaleFollowsAShrinkingRow) {
  Int8Row row({100, 50});
  EXPECT_EQ(row.scale(), 1);
  row.WriteRandomly({60, 50}, 1);  // A scale of 1/2 would suffice.
  EXPECT_EQ(row.scale(), 1);
  row.WriteRandomly({30, 20}, 1);  // A scale of 1/4 would suffice.
  EXPECT_EQ(row.scale(), 0.5f);
  row.WriteRandomly({0.001f, 0}, 1);
  EXPECT_LT(row.scale(), 0.001f / 31);
}

TEST(Int8Format, HoldsNaNAsZeroAndInfinityAsTheLargest) {
  const Floats weights = {NAN, 1, -NAN, -1};
  Int8Row row(weights);
  const Floats expected = {0, 1, 0, -1};
  EXPECT_EQ(row.Read(), expected);
  row.WriteRandomly(weights, 3);
  EXPECT_EQ(row.Read(), expected);
  const float largest = 127 * 0x1p121f;
  const Floats infinite = {INFINITY, 0, NAN, -INFINITY};
  row.WriteRandomly(infinite, 3);
  EXPECT_EQ(row.Read(), (Floats{largest, 0, 0, -largest}));
  EXPECT_EQ(Int8Row(infinite).Read(), row.Read());
  EXPECT_EQ(Int8Row({NAN, NAN}).Read(), (Floats{0, 0}));
}

TEST(Int8Format, WritesOfAnyLengthRoundAPrefixAlike) {
  Floats row = RandomRow(70, 4);
  row[0] = 1;  // So that all scales are equal.
  const Floats whole = WriteRandomlyAndRead("int8", row, 9);
  for (size_t dim = 1; dim < 70; ++dim) {
    const Floats part(row.begin(), row.begin() + static_cast<long>(dim));
    const Floats read = WriteRandomlyAndRead("int8", part, 9);
    ASSERT_TRUE(std::equal(read.begin(), read.end(), whole.begin())) << dim;
  }
}

TEST(MakeRowFormat, RefusesAnUnknownDtype) {
  const Status status = MakeRowFormat(SpecOf("float64")).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "row_dtype must be float32, bfloat16, float16 or int8, received "
            "\"float64\"");
}

TEST(MakeRowFormat, RefusesAParameter) {
  EXPECT_EQ(MakeRowFormat(SpecOf("int8(bits=4)")).status().message(),
            "row_dtype int8 has no parameter bits; it has none");
}

}  // namespace
}  // namespace persia
