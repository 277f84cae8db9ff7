#include "cc/store/row_format.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cc/base/hash.h"
#include "cc/base/vectorize.h"
#include "cc/store/half.h"
#include "cc/store/int8.h"
#include "cc/store/slices.h"

namespace persia {
namespace {

// At least 16 random bits for each weight of a row.
class RandomBits {
 public:
  explicit RandomBits(uint64_t random)
      : key_(static_cast<uint32_t>(Mix64(random))) {}

  // Returns the random bits of weight `d`, by the finalizer of MurmurHash3
  // (Appleby). Its arithmetic has 32 bits, so that loops are vectorised.
  uint32_t operator[](size_t d) const {
    uint32_t x = key_ + static_cast<uint32_t>(d) * 0x9e3779b9u;
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
  }

 private:
  const uint32_t key_;
};

// Prefetches the weights of the row that is read kAheadOfUse rows after row
// `i`.
inline __attribute__((always_inline)) void PrefetchAhead(
    const std::byte* const* rows, size_t i, size_t count, size_t bytes) {
  if (i + kAheadOfUse >= count) return;
  const std::byte* const row = rows[i + kAheadOfUse];
  if (row != nullptr) PrefetchStart<For::kRead>(row, bytes);
}

// `kDim` is `dim` where the compiler is to know it, else 0.
template <size_t kDim>
inline __attribute__((always_inline)) void CopyRows(
    const std::byte* const* rows, const uint32_t* places, size_t count,
    size_t dim, float* out) {
  if (kDim != 0) dim = kDim;
  constexpr size_t kBlock = 16;  // A constant size, so that memcpy is inlined.
  const size_t blocks = dim / kBlock;
  const size_t rest = dim % kBlock * sizeof(float);
  for (size_t i = 0; i < count; ++i) {
    PrefetchAhead(rows, i, count, dim * sizeof(float));
    if (rows[i] == nullptr) continue;
    const std::byte* from = rows[i];
    float* to = out + places[i] * dim;
    for (size_t b = 0; b < blocks; ++b) {
      std::memcpy(to, from, kBlock * sizeof(float));
      from += kBlock * sizeof(float);
      to += kBlock;
    }
    if (rest != 0) std::memcpy(to, from, rest);
  }
}

PERSIA_VECTORIZE void ReadFloats(const std::byte* const* rows,
                                 const uint32_t* places, size_t count,
                                 size_t dim, float* out) {
  // The most common dims.
  if (dim == 16) return CopyRows<16>(rows, places, count, dim, out);
  if (dim == 32) return CopyRows<32>(rows, places, count, dim, out);
  CopyRows<0>(rows, places, count, dim, out);
}

class Float32Format : public RowFormat {
 public:
  size_t weight_bytes(size_t dim) const override { return 4 * dim; }
  bool in_place() const override { return true; }

  void Read(const std::byte* const* rows, const uint32_t* places, size_t count,
            size_t dim, float* out) const override {
    ReadFloats(rows, places, count, dim, out);
  }

  void Write(const float* weights, size_t dim, std::byte* row) const override {
    std::memcpy(row, weights, 4 * dim);
  }

  void WriteRandomly(const float* weights, size_t dim, uint64_t,
                     std::byte* row) const override {
    Write(weights, dim, row);
  }
};

template <typename Half>
void ReadHalves(const std::byte* const* rows, const uint32_t* places,
                size_t count, size_t dim, float* out) {
  for (size_t i = 0; i < count; ++i) {
    PrefetchAhead(rows, i, count, dim * sizeof(uint16_t));
    if (rows[i] == nullptr) continue;
    const auto* from = reinterpret_cast<const uint16_t*>(rows[i]);
    float* __restrict to = out + places[i] * dim;
    for (size_t d = 0; d < dim; ++d) to[d] = Half::ToFloat(from[d]);
  }
}

PERSIA_VECTORIZE void ReadBfloat16(const std::byte* const* rows,
                                   const uint32_t* places, size_t count,
                                   size_t dim, float* out) {
  ReadHalves<Bfloat16>(rows, places, count, dim, out);
}

PERSIA_VECTORIZE void ReadFloat16(const std::byte* const* rows,
                                  const uint32_t* places, size_t count,
                                  size_t dim, float* out) {
  ReadHalves<Float16>(rows, places, count, dim, out);
}

PERSIA_VECTORIZE void WriteBfloat16Randomly(const float* weights, size_t dim,
                                            uint64_t random, uint16_t* row) {
  const RandomBits bits(random);
  for (size_t d = 0; d < dim; ++d) {
    row[d] = Bfloat16::Randomly(weights[d], bits[d]);
  }
}

PERSIA_VECTORIZE void WriteFloat16Randomly(const float* weights, size_t dim,
                                           uint64_t random, uint16_t* row) {
  const RandomBits bits(random);
  for (size_t d = 0; d < dim; ++d) {
    row[d] = Float16::Randomly(weights[d], bits[d]);
  }
}

template <typename Half>
class HalfFormat : public RowFormat {
 public:
  size_t weight_bytes(size_t dim) const override { return 2 * dim; }
  bool in_place() const override { return false; }

  void Read(const std::byte* const* rows, const uint32_t* places, size_t count,
            size_t dim, float* out) const override {
    if constexpr (std::is_same_v<Half, Bfloat16>) {
      ReadBfloat16(rows, places, count, dim, out);
    } else {
      ReadFloat16(rows, places, count, dim, out);
    }
  }

  void Write(const float* weights, size_t dim, std::byte* row) const override {
    auto* to = reinterpret_cast<uint16_t*>(row);
    for (size_t d = 0; d < dim; ++d) to[d] = Half::Nearest(weights[d]);
  }

  void WriteRandomly(const float* weights, size_t dim, uint64_t random,
                     std::byte* row) const override {
    auto* to = reinterpret_cast<uint16_t*>(row);
    if constexpr (std::is_same_v<Half, Bfloat16>) {
      WriteBfloat16Randomly(weights, dim, random, to);
    } else {
      WriteFloat16Randomly(weights, dim, random, to);
    }
  }
};

PERSIA_VECTORIZE void ReadInt8(const std::byte* const* rows,
                               const uint32_t* places, size_t count, size_t dim,
                               float* out) {
  for (size_t i = 0; i < count; ++i) {
    PrefetchAhead(rows, i, count, sizeof(float) + dim);
    if (rows[i] == nullptr) continue;
    float scale;
    std::memcpy(&scale, rows[i], sizeof(scale));
    const auto* from = reinterpret_cast<const int8_t*>(rows[i] + sizeof(scale));
    DecodeInt8(from, scale, dim, out + places[i] * dim);
  }
}

// Returns the bits of |weight|, or 0 for NaN. Compared as integers, these bits
// have the order of the magnitudes, so a loop that finds the largest magnitude
// is vectorised.
inline uint32_t MagnitudeBits(float weight) {
  const uint32_t bits = BitsOf(weight) & 0x7fffffff;
  return bits & -static_cast<uint32_t>(bits <= 0x7f800000);
}

// Writes the int8 number of each weight. `scale` is a power of two, so weights
// that do not change keep their exact values while `scale` stays the same. The
// loop compares only integers: float comparisons would prevent vectorisation.
template <bool randomly>
inline __attribute__((always_inline)) void WriteNumbers(
    const float* __restrict weights, size_t dim, float scale, RandomBits bits,
    int8_t* __restrict numbers) {
  constexpr int32_t kHalf = 1 << 23;
  const float per_weight = 1 / scale;
  for (size_t d = 0; d < dim; ++d) {
    const float exact = FloatOf(MagnitudeBits(weights[d])) * per_weight;
    const float q = FloatOf(std::min(BitsOf(exact), BitsOf(kMostInt8)));
    const auto whole = static_cast<int32_t>(q);
    // `above` is the fraction of q in units of 2^-24. It is compared with a
    // random number: adding the two would lose digits.
    const auto above =
        static_cast<int32_t>((q - static_cast<float>(whole)) * 0x1p24f);
    const int32_t least = randomly ? static_cast<int32_t>(bits[d] >> 8) : kHalf;
    const int32_t rounded = whole + static_cast<int32_t>(above > least);
    const int32_t sign = static_cast<int32_t>(BitsOf(weights[d])) >> 31;
    numbers[d] = static_cast<int8_t>((rounded ^ sign) - sign);
  }
}

PERSIA_VECTORIZE uint32_t LargestMagnitude(const float* weights, size_t dim) {
  uint32_t largest = 0;
  for (size_t d = 0; d < dim; ++d) {
    largest = std::max(largest, MagnitudeBits(weights[d]));
  }
  return largest;
}

PERSIA_VECTORIZE void WriteNearestNumbers(const float* weights, size_t dim,
                                          float scale, int8_t* numbers) {
  WriteNumbers<false>(weights, dim, scale, RandomBits(0), numbers);
}

PERSIA_VECTORIZE void WriteRandomNumbers(const float* weights, size_t dim,
                                         float scale, uint64_t random,
                                         int8_t* numbers) {
  WriteNumbers<true>(weights, dim, scale, RandomBits(random), numbers);
}

class Int8Format : public RowFormat {
 public:
  size_t weight_bytes(size_t dim) const override { return 4 + dim; }
  bool in_place() const override { return false; }

  void Read(const std::byte* const* rows, const uint32_t* places, size_t count,
            size_t dim, float* out) const override {
    ReadInt8(rows, places, count, dim, out);
  }

  void Write(const float* weights, size_t dim, std::byte* row) const override {
    const float scale = PowerOfTwoInt8Scale(LargestMagnitude(weights, dim));
    std::memcpy(row, &scale, sizeof(scale));
    WriteNearestNumbers(weights, dim, scale, NumbersOf(row));
  }

  void WriteRandomly(const float* weights, size_t dim, uint64_t random,
                     std::byte* row) const override {
    float old_scale;
    std::memcpy(&old_scale, row, sizeof(old_scale));
    const float least = PowerOfTwoInt8Scale(LargestMagnitude(weights, dim));
    // The old scale is retained if it is one or two times the least scale. With
    // the least scale alone, the scale of a row whose largest weight is near
    // 127 times a power of two would change at every step, and each time that
    // it doubled, half of the weights would be rounded.
    const float scale = std::min(std::max(old_scale, least), 2 * least);
    std::memcpy(row, &scale, sizeof(scale));
    WriteRandomNumbers(weights, dim, scale, random, NumbersOf(row));
  }

 private:
  static int8_t* NumbersOf(std::byte* row) {
    return reinterpret_cast<int8_t*>(row + sizeof(float));
  }
};

template <typename Format>
Result<std::unique_ptr<RowFormat>> Make() {
  return std::unique_ptr<RowFormat>(std::make_unique<Format>());
}

}  // namespace

Result<std::unique_ptr<RowFormat>> MakeRowFormat(const Spec& spec) {
  PERSIA_RETURN_IF_ERROR(spec.CheckParams("row_dtype", {}));
  if (spec.name == "float32") return Make<Float32Format>();
  if (spec.name == "bfloat16") return Make<HalfFormat<Bfloat16>>();
  if (spec.name == "float16") return Make<HalfFormat<Float16>>();
  if (spec.name == "int8") return Make<Int8Format>();
  return InvalidArgument(
      "row_dtype must be float32, bfloat16, float16 or int8, received \"",
      spec.name, "\"");
}

}  // namespace persia
