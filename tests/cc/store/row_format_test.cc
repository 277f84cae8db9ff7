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

// The distance between neighbours that a row of `dtype` can hold, at most.
float StepAt(const std::string& dtype, const Floats& row, size_t d) {
  const float magnitude = std::abs(row[d]);
  if (dtype == "bfloat16") return magnitude * 0x1p-7f;
  if (dtype == "float16") return std::max(magnitude * 0x1p-10f, 0x1p-24f);
  if (dtype == "float32") return 0;
  float largest = 0;
  for (const float weight : row) largest = std::max(largest, std::abs(weight));
  return largest / 127;
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
      // The deviation of one is half a step at most; five of the mean's.
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

// Loops take many weights at once, and those left over one by one.
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
        // Every dtype holds these.
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

TEST(Int8Format, ScalesByTheLargestMagnitude) {
  const auto format = FormatOf("int8");
  const Floats row = {0.5f, -2.54f, 1.27f, 0.02f};
  RowBytes bytes(*format, 4);
  format->Write(row.data(), 4, bytes.data());
  float scale;
  std::memcpy(&scale, bytes.data(), sizeof(scale));
  EXPECT_FLOAT_EQ(scale, 0.02f);
  const auto* q = reinterpret_cast<const int8_t*>(bytes.data() + 4);
  EXPECT_EQ(std::vector<int>(q, q + 4), (std::vector<int>{25, -127, 64, 1}));
}

TEST(Int8Format, TheLargestWeightKeepsItsValue) {
  for (uint32_t seed = 0; seed < 200; ++seed) {
    const Floats row = RandomRow(16, seed);
    const auto largest = std::max_element(
        row.begin(), row.end(),
        [](float a, float b) { return std::abs(a) < std::abs(b); });
    const Floats read = WriteRandomlyAndRead("int8", row, seed);
    ASSERT_FLOAT_EQ(read[static_cast<size_t>(largest - row.begin())], *largest);
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
