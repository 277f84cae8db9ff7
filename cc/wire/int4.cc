#include "cc/wire/int4.h"

#include "cc/base/vectorize.h"

namespace persia {
namespace {

// Adding kRound to a small number rounds the small number to an integer, which
// is then in the lowest bits of the sum.
constexpr float kRound = 0x1.8p23f;

// The functions below are inlined into each CPU-specific version of a loop, so
// that their code is compiled for that CPU.

[[gnu::always_inline]] inline uint32_t LargestBits(const float* from,
                                                   size_t dim) {
  int32_t largest = 0;  // Signed: older CPUs lack the unsigned comparison.
  for (size_t d = 0; d < dim; ++d) {
    const auto bits = static_cast<int32_t>(BitsOf(from[d]) & kMagnitudeBits);
    largest = bits > largest ? bits : largest;
  }
  return static_cast<uint32_t>(largest);
}

// The number's integer, in the lowest 4 bits of the result.
[[gnu::always_inline]] inline uint32_t Int4Of(float number, float inverse) {
  return BitsOf(number * inverse + kRound);
}

// The number that a receiver will decode.
[[gnu::always_inline]] inline float RoundTrip(float number,
                                              const Int4Scale& scale) {
  return (number * scale.inverse + kRound - kRound) * scale.scale;
}

[[gnu::always_inline]] inline void Encode(const float* from, size_t dim,
                                          float inverse,
                                          uint8_t* __restrict out) {
  const size_t half = Int4Bytes(dim);
  const float* const upper = from + half;
  for (size_t d = 0; d < dim / 2; ++d) {
    out[d] = static_cast<uint8_t>((Int4Of(from[d], inverse) & 15) |
                                  Int4Of(upper[d], inverse) << 4);
  }
  if (dim % 2 == 0) return;
  out[half - 1] = static_cast<uint8_t>(Int4Of(from[half - 1], inverse) & 15);
}

// The low half of the byte, with its sign.
[[gnu::always_inline]] inline float LowOf(uint8_t byte) {
  return static_cast<float>(static_cast<int32_t>((byte & 15) ^ 8) - 8);
}

[[gnu::always_inline]] inline float HighOf(uint8_t byte) {
  return static_cast<float>(static_cast<int8_t>(byte) >> 4);
}

[[gnu::always_inline]] inline void Decode(const uint8_t* from, size_t dim,
                                          float scale, float* __restrict to) {
  const size_t half = Int4Bytes(dim);
  for (size_t d = 0; d < half; ++d) to[d] = LowOf(from[d]) * scale;
  float* __restrict upper = to + half;
  for (size_t d = 0; d < dim / 2; ++d) upper[d] = HighOf(from[d]) * scale;
}

PERSIA_VECTORIZE void GatherInt4Loop(const float* all, VectorPlaces places,
                                     size_t dim, uint16_t* scales,
                                     uint8_t* out) {
  for (size_t i = 0; i < places.count; ++i, out += Int4Bytes(dim)) {
    const float* const from = all + places[i] * dim;
    const Int4Scale scale = Int4ScaleOf(LargestBits(from, dim));
    scales[i] = scale.bits;
    Encode(from, dim, scale.inverse, out);
  }
}

PERSIA_VECTORIZE void ScatterInt4Loop(const uint16_t* scales,
                                      const uint8_t* from, VectorPlaces places,
                                      size_t dim, float* all) {
  for (size_t i = 0; i < places.count; ++i, from += Int4Bytes(dim)) {
    Decode(from, dim, Bfloat16::ToFloat(scales[i]), all + places[i] * dim);
  }
}

PERSIA_VECTORIZE bool FeedBackLoop(const float* gradient, size_t dim,
                                   float* __restrict residual,
                                   float* __restrict sum) {
  for (size_t d = 0; d < dim; ++d) sum[d] = gradient[d] + residual[d];
  const uint32_t largest = LargestBits(sum, dim);
  if (largest >= kInfinityBits) return false;
  const Int4Scale scale = Int4ScaleOf(largest);
  for (size_t d = 0; d < dim; ++d) {
    residual[d] = sum[d] - RoundTrip(sum[d], scale);
  }
  return true;
}

PERSIA_VECTORIZE void TakeBackLoop(const float* gradient, const float* sum,
                                   size_t dim, float* __restrict residual) {
  const uint32_t largest = LargestBits(sum, dim);
  if (largest >= kInfinityBits) return;
  const Int4Scale scale = Int4ScaleOf(largest);
  for (size_t d = 0; d < dim; ++d) {
    residual[d] += RoundTrip(sum[d], scale) - gradient[d];
  }
}

}  // namespace

void GatherInt4(const float* all, VectorPlaces places, size_t dim,
                uint16_t* scales, uint8_t* out) {
  GatherInt4Loop(all, places, dim, scales, out);
}

void ScatterInt4(const uint16_t* scales, const uint8_t* from,
                 VectorPlaces places, size_t dim, float* all) {
  ScatterInt4Loop(scales, from, places, dim, all);
}

bool FeedBackInt4(const float* gradient, size_t dim, float* residual,
                  float* sum) {
  return FeedBackLoop(gradient, dim, residual, sum);
}

void TakeBackInt4(const float* gradient, const float* sum, size_t dim,
                  float* residual) {
  TakeBackLoop(gradient, sum, dim, residual);
}

}  // namespace persia
