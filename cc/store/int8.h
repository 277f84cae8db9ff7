// int8 vectors: the encoding that a stored row, a vector in a message and a row
// of an export share.
//
//   a vector of floats = a float32 scale s, and an integer q per float
//   float ~ q * s, with q from -127 to 127, never -128
//
// These rules hold for all three; tests/serving/int8_contract_test.py checks
// them with the same vectors:
//
// - s is as small as the vector's largest magnitude m allows. In a message and
//   in an export s = m / 127, so m keeps its value except for float32 rounding.
//   In a stored row s is a power of two: the least one >= m / 127 in a new row,
//   and that or twice that while the row is trained. So a weight that an update
//   does not change keeps its exact value, even if the update changes m a
//   little.
// - q is the integer nearest to float / s, so each float is off by at most half
//   of s. A tie is rounded to even in a message and in an export, and towards
//   zero in a stored row. (Updates of a stored row round stochastically
//   instead: each float is then off by less than s.)
// - The encoding of -v is the negation of the encoding of v. Zeros are exact.
// - Very small vectors: a message has zeros for a vector with m below 2^-121.
//   An export has zeros for a vector whose s is below 2^-126, since
//   TensorFlow's threads treat subnormal numbers as zero. In a stored row s is
//   at least 2^-126.
// - Floats that are not finite: if a vector has one, a message has the scale
//   NaN, which makes the whole vector NaN, so that a shard can skip and count
//   the row. A stored row has 0 for NaN, and 127 * 2^121 with the float's sign
//   for an infinity. Rows of an export must be finite.
//
// Messages are encoded in cc/wire/vector_kernels.cc, stored rows in
// row_format.cc, and exports, with stock TensorFlow ops, in
// persia_tf/serving/served_rows.py.

#ifndef PERSIA_CC_STORE_INT8_H_
#define PERSIA_CC_STORE_INT8_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "cc/store/half.h"

namespace persia {

// The largest integer in an int8 vector.
inline constexpr float kMostInt8 = 127;

// A scale, and its inverse.
struct Int8Scale {
  float scale;
  float inverse;
};

// Returns the scale m / 127 and its inverse, where `magnitude_bits` are the
// bits of the vector's largest magnitude m. Returns NaN and 0 if m is not
// finite, and 0 and 0 if m is too small to divide by.
inline Int8Scale NearestInt8Scale(uint32_t magnitude_bits) {
  if (magnitude_bits >= kInfinityBits) {
    return {std::numeric_limits<float>::quiet_NaN(), 0};
  }
  const float inverse = kMostInt8 / FloatOf(magnitude_bits);
  if (inverse > std::numeric_limits<float>::max()) return {0, 0};
  return {FloatOf(magnitude_bits) / kMostInt8, inverse};
}

// Returns the smallest power of two s with 127 * s >= m, where `magnitude_bits`
// are the bits of the vector's largest magnitude m. s is limited to 2^-126 to
// 2^121, so that 1 / s is normal and 127 * s is finite.
inline float PowerOfTwoInt8Scale(uint32_t magnitude_bits) {
  constexpr uint32_t kOne = 1u << 23;  // One step of the exponent.
  constexpr uint32_t kMost = (127 + 121) * kOne;
  // 127 is 64 * 1.984375, so a mantissa above 1.984375 needs the next exponent.
  const uint32_t power =
      (magnitude_bits + kOne - 1 - BitsOf(1.984375f) % kOne) / kOne * kOne;
  constexpr uint32_t kLeast = 1 * kOne, k64 = 6 * kOne;
  return FloatOf(std::min(std::max(power, kLeast + k64) - k64, kMost));
}

// Inlined into each CPU version of a loop, so that it is compiled for that CPU.
[[gnu::always_inline]] inline void DecodeInt8(const int8_t* numbers,
                                              float scale, size_t dim,
                                              float* __restrict to) {
  for (size_t d = 0; d < dim; ++d) {
    to[d] = static_cast<float>(numbers[d]) * scale;
  }
}

}  // namespace persia

#endif  // PERSIA_CC_STORE_INT8_H_
