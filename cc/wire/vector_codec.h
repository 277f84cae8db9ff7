// How vectors of floats are encoded in a message, by dtype. Conversions round
// to the nearest, ties to even.
//
//   float32   n x dim x f32
//   float16   f32 scale, u32 0, n x dim x f16: decoding multiplies each number
//             by the scale
//   bfloat16  n x dim x bf16
//   int8      n x f32 scale, n x dim x i8: decoding multiplies each number by
//             its vector's scale, as cc/store/int8.h says
//   int4      n x bf16 scale, n x ceil(dim / 2) bytes: as int4.h says
//
// Non-finite numbers stay non-finite in all dtypes: a shard must see them, to
// skip and count the row. In int8 and int4 the scale makes the whole vector
// NaN. Finite numbers stay finite, except that in float16 and int8 those above
// (1 - 2^-12) x 2^128 may be rounded beyond float32's range.
//
// A float16 scale is a power of two, so it costs no precision. A table's
// gradients get the scale that brings their largest finite magnitude in the
// message into [2^14, 2^15), so that small gradients do not underflow, as in
// the PERSIA paper. Rows get the scale 1, so that a row decodes to the same
// values whichever rows accompany it. If a number of a table's rows in the
// message exceeds float16's range, these rows get a scale as gradients do.

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

// Returns float32 vectors that refer to `floats`.
WireVectors AsWireVectors(Span<const float> floats);

// Chooses how a float16 scale is computed.
enum class VectorKind { kRows, kGradients };

// The size in bytes of `count` encoded vectors. Does not overflow below 2^45
// vectors of up to kMaxDim numbers.
uint64_t EncodedBytes(WireDtype dtype, uint64_t count, uint32_t dim);

// EncodedBytes, rounded up to a multiple of 8 (padded with zeros).
uint64_t PaddedBytes(WireDtype dtype, uint64_t count, uint32_t dim);

// Encodes the vectors at `places` of the array `all` into `bytes`, which must
// have room for EncodedBytes() bytes and be 8-byte aligned.
void EncodeVectors(WireDtype dtype, VectorKind kind, const float* all,
                   VectorPlaces places, uint32_t dim, uint8_t* bytes);

// Decodes `vectors` to `places` of the array `all`. Precondition: `vectors` is
// EncodedBytes long and 8-byte aligned.
void DecodeVectors(const WireVectors& vectors, VectorPlaces places,
                   uint32_t dim, float* all);

}  // namespace persia

#endif  // PERSIA_CC_WIRE_VECTOR_CODEC_H_
