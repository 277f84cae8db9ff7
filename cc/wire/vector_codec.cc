#include "cc/wire/vector_codec.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cc/wire/int4.h"
#include "cc/wire/vector_kernels.h"

namespace persia {
namespace {

constexpr size_t kFloat16HeadBytes = 8;  // The scale, then zeros.
constexpr float kLargestFloat16 = 65504;

// Returns the float16 scale, a power of two, for vectors whose largest finite
// magnitude is `largest`.
float Float16ScaleOf(VectorKind kind, float largest) {
  if (largest == 0) return 1;
  if (kind == VectorKind::kRows && largest <= kLargestFloat16) return 1;
  int exponent;  // 2^(exponent - 1) <= largest < 2^exponent.
  std::frexp(largest, &exponent);
  // The exponent is limited, since the scale and its inverse must both be
  // normal numbers.
  return std::ldexp(1.0f, std::max(exponent - 15, -126));
}

void EncodeFloat16(VectorKind kind, const float* all, VectorPlaces places,
                   uint32_t dim, uint8_t* bytes) {
  const float scale =
      Float16ScaleOf(kind, LargestFiniteMagnitude(all, places, dim));
  std::memset(bytes, 0, kFloat16HeadBytes);
  std::memcpy(bytes, &scale, sizeof(scale));
  GatherFloat16(all, places, dim, 1 / scale,
                reinterpret_cast<uint16_t*>(bytes + kFloat16HeadBytes));
}

void DecodeFloat16(const uint8_t* bytes, VectorPlaces places, uint32_t dim,
                   float* all) {
  float scale;
  std::memcpy(&scale, bytes, sizeof(scale));
  ScatterFloat16(reinterpret_cast<const uint16_t*>(bytes + kFloat16HeadBytes),
                 places, dim, scale, all);
}

}  // namespace

WireVectors AsWireVectors(Span<const float> floats) {
  return {WireDtype::kFloat32,
          ConstBytes(reinterpret_cast<const uint8_t*>(floats.data()),
                     floats.size_bytes())};
}

uint64_t EncodedBytes(WireDtype dtype, uint64_t count, uint32_t dim) {
  const uint64_t numbers = count * dim;
  switch (dtype) {
    case WireDtype::kFloat32:
      return numbers * sizeof(float);
    case WireDtype::kFloat16:
      return kFloat16HeadBytes + numbers * sizeof(uint16_t);
    case WireDtype::kBfloat16:
      return numbers * sizeof(uint16_t);
    case WireDtype::kInt8:
      return count * sizeof(float) + numbers;
    case WireDtype::kInt4:
      return count * (sizeof(uint16_t) + Int4Bytes(dim));
  }
  return 0;
}

uint64_t PaddedBytes(WireDtype dtype, uint64_t count, uint32_t dim) {
  return (EncodedBytes(dtype, count, dim) + 7) / 8 * 8;
}

void EncodeVectors(WireDtype dtype, VectorKind kind, const float* all,
                   VectorPlaces places, uint32_t dim, uint8_t* bytes) {
  auto* const scales = reinterpret_cast<float*>(bytes);
  auto* const halves = reinterpret_cast<uint16_t*>(bytes);
  switch (dtype) {
    case WireDtype::kFloat32:
      return GatherFloats(all, places, dim, reinterpret_cast<float*>(bytes));
    case WireDtype::kFloat16:
      return EncodeFloat16(kind, all, places, dim, bytes);
    case WireDtype::kBfloat16:
      return GatherBfloat16(all, places, dim, halves);
    case WireDtype::kInt8:
      return GatherInt8(all, places, dim, scales,
                        reinterpret_cast<int8_t*>(scales + places.count));
    case WireDtype::kInt4:
      return GatherInt4(all, places, dim, halves,
                        bytes + places.count * sizeof(*halves));
  }
}

void DecodeVectors(const WireVectors& vectors, VectorPlaces places,
                   uint32_t dim, float* all) {
  const uint8_t* const bytes = vectors.bytes.data();
  const auto* const scales = reinterpret_cast<const float*>(bytes);
  const auto* const halves = reinterpret_cast<const uint16_t*>(bytes);
  switch (vectors.dtype) {
    case WireDtype::kFloat32:
      return ScatterFloats(scales, places, dim, all);
    case WireDtype::kFloat16:
      return DecodeFloat16(bytes, places, dim, all);
    case WireDtype::kBfloat16:
      return ScatterBfloat16(halves, places, dim, all);
    case WireDtype::kInt8:
      return ScatterInt8(scales,
                         reinterpret_cast<const int8_t*>(scales + places.count),
                         places, dim, all);
    case WireDtype::kInt4:
      return ScatterInt4(halves, bytes + places.count * sizeof(*halves), places,
                         dim, all);
  }
}

}  // namespace persia
