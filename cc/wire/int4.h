// int4 vectors: 4 bits per number, and a scale per vector.
//
//   a vector of floats = a bfloat16 scale s, and an integer q per float
//   float ~ q * s, with q from -7 to 7
//
// Two integers share a byte, in two's complement. With h = ceil(dim / 2), byte
// d has number d in its low half and number d + h in its high half; if dim is
// odd, the high half of the last byte is 0. So a loop reads and writes
// neighbours, which a compiler vectorises without shuffles.
//
// - s is m / 7, rounded towards zero to bfloat16, where m is the vector's
//   largest magnitude. Then m / s is below 7.06, so m becomes 7 * s, and q is
//   the integer nearest to float / s (a tie is rounded to even). Each float is
//   off by at most s / 2, that is, by m / 14.
// - The scale is a bfloat16 because gradients may have any magnitude. A float16
//   scale would be 0 below 2^-24, and would need a second scale per message.
//   Rounding towards zero keeps 7 * s <= m, so that finite vectors stay finite.
// - The scale follows from m, and not from the least squared error. For normal
//   vectors of 16 to 64 numbers, the best scale of each vector would reduce the
//   error (8.6% to 10.7% of the vector's length) by a 16th, for Laplace's
//   distribution too; for 256 numbers by a 7th. In return the search takes
//   several passes over a vector, and a float beyond 7.5 * s would be off by
//   any amount. With m, error feedback has a bound for each number: no number
//   is ever more than s / 2 behind.
// - Decoding an encoded vector and encoding it again gives the same bytes. The
//   encoding of -v is the negation of the encoding of v. Zeros are exact.
// - A vector with m below 7 * 2^-126 becomes zeros, so that 1 / s is finite. A
//   vector that is not finite has the scale NaN, which makes the whole vector
//   NaN, so that a shard can skip and count the row.

#ifndef PERSIA_CC_WIRE_INT4_H_
#define PERSIA_CC_WIRE_INT4_H_

#include <cstddef>
#include <cstdint>

#include "cc/store/half.h"
#include "cc/wire/vector_places.h"

namespace persia {

// The largest integer in an int4 vector.
inline constexpr float kMostInt4 = 7;

// The bytes of a vector's integers.
inline constexpr size_t Int4Bytes(size_t dim) { return (dim + 1) / 2; }

struct Int4Scale {
  uint16_t bits;  // The scale as a bfloat16.
  float scale;
  float inverse;  // 0 if the scale is 0 or NaN.
};

// Returns the scale of a vector, where `magnitude_bits` are the bits of the
// vector's largest magnitude.
inline Int4Scale Int4ScaleOf(uint32_t magnitude_bits) {
  constexpr uint32_t kInfinityBits = 0x7f800000;
  constexpr uint16_t kNan = 0x7fc0;
  constexpr uint16_t kLeastNormal = 0x0080;
  if (magnitude_bits >= kInfinityBits) {
    return {kNan, Bfloat16::ToFloat(kNan), 0};
  }
  const float exact = FloatOf(magnitude_bits) / kMostInt4;
  const auto bits = static_cast<uint16_t>(BitsOf(exact) >> 16);
  if (bits < kLeastNormal) return {0, 0, 0};
  const float scale = Bfloat16::ToFloat(bits);
  return {bits, scale, 1 / scale};
}

// Encodes the vectors at `places` of the array `all`: a scale per vector, and
// Int4Bytes(dim) bytes per vector.
void GatherInt4(const float* all, VectorPlaces places, size_t dim,
                uint16_t* scales, uint8_t* out);
void ScatterInt4(const uint16_t* scales, const uint8_t* from,
                 VectorPlaces places, size_t dim, float* all);

// Error feedback for one vector. Sets `sum` to `gradient` + `residual`, which
// is to be encoded, and `residual` to what the encoding of `sum` loses: `sum`
// minus the decoded vector, without rounding. Returns false and leaves
// `residual` as it is if `sum` is not finite.
bool FeedBackInt4(const float* gradient, size_t dim, float* residual,
                  float* sum);

// Undoes FeedBackInt4 for a vector that was not delivered: adds to `residual`
// the decoded vector minus `gradient`. The residual may have changed in the
// meantime, since corrections add up in any order. Does nothing if `sum` is not
// finite.
void TakeBackInt4(const float* gradient, const float* sum, size_t dim,
                  float* residual);

}  // namespace persia

#endif  // PERSIA_CC_WIRE_INT4_H_
