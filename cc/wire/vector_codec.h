// How vectors of floats stand in a message, by their dtype. Conversions round
// to the nearest, ties to even.
//
//   float32   n x dim x f32
//   float16   f32 scale, u32 0, n x dim x f16: each stands for scale x itself
//   bfloat16  n x dim x bf16
//   int8      n x f32 scale, n x dim x i8: each stands for its vector's scale x
//             itself
//
// Numbers that are not finite stay so, in all dtypes: a shard must see them, to
// skip and count the row. In int8 their whole vector becomes NaN, by its scale.
// Finite numbers stay finite, but in float16 and int8 those above
// (1 - 2^-12) x 2^128 may be rounded beyond float32's range.
//
// A float16 scale is a power of two, so that it costs no precision. Gradients
// get the one that brings the largest finite magnitude of their part of the
// table to [2^14, 2^15), whatever their size: small ones survive, as in PERSIA.
// Rows get 1, so that a row looks the same whatever it is asked for with, but
// for a part with a number beyond float16's range: that is scaled likewise.

#ifndef PERSIA_CC_WIRE_VECTOR_CODEC_H_
#define PERSIA_CC_WIRE_VECTOR_CODEC_H_

#include <cstddef>
#include <cstdint>

#include "cc/base/span.h"
#include "cc/wire/frame.h"
#include "cc/wire/vector_places.h"
#include "cc/wire/wire_dtype.h"

namespace persia {

// The vectors of one table in a message.
struct WireVectors {
  WireDtype dtype = WireDtype::kFloat32;
  ConstBytes bytes;
};

// Refers to the floats.
WireVectors AsWireVectors(Span<const float> floats);

// What the vectors are, which chooses a float16 scale.
enum class VectorKind { kRows, kGradients };

// No overflow below 2^45 vectors of up to kMaxDim numbers.
uint64_t EncodedBytes(WireDtype dtype, uint64_t count, uint32_t dim);

// Those bytes, and the zeros behind them up to a multiple of 8.
uint64_t PaddedBytes(WireDtype dtype, uint64_t count, uint32_t dim);

// Encodes the vectors of `all` that `places` names to the EncodedBytes at
// `bytes`, which must be 8-byte aligned.
void EncodeVectors(WireDtype dtype, VectorKind kind, const float* all,
                   VectorPlaces places, uint32_t dim, uint8_t* bytes);

// Decodes vectors to those places of `all`. Precondition: there are
// EncodedBytes, 8-byte aligned.
void DecodeVectors(const WireVectors& vectors, VectorPlaces places,
                   uint32_t dim, float* all);

}  // namespace persia

#endif  // PERSIA_CC_WIRE_VECTOR_CODEC_H_
