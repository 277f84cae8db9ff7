#include "cc/store/finite.h"

#include <algorithm>
#include <cstring>

#include "cc/base/vectorize.h"

namespace persia {
namespace {

// Works on the bits and has no early exit, so that the compiler vectorises it.
inline __attribute__((always_inline)) bool IsFinite(const float* values,
                                                    size_t dim) {
  constexpr uint32_t kExponent = 0x7f800000;
  uint32_t largest = 0;
  for (size_t i = 0; i < dim; ++i) {
    uint32_t bits;
    std::memcpy(&bits, values + i, sizeof(bits));
    largest = std::max(largest, bits & kExponent);
  }
  return largest < kExponent;
}

// `kDim` is `dim` if the compiler is to know it, else 0.
template <size_t kDim>
inline __attribute__((always_inline)) void FindFiniteOf(const float* values,
                                                        const uint32_t* places,
                                                        size_t count,
                                                        size_t dim,
                                                        uint8_t* finite) {
  if (kDim != 0) dim = kDim;
  for (size_t i = 0; i < count; ++i) {
    finite[i] = IsFinite(values + places[i] * dim, dim) ? 1 : 0;
  }
}

PERSIA_VECTORIZE void FindFiniteVectors(const float* values,
                                        const uint32_t* places, size_t count,
                                        size_t dim, uint8_t* finite) {
  // The most common dims.
  if (dim == 16) return FindFiniteOf<16>(values, places, count, dim, finite);
  if (dim == 32) return FindFiniteOf<32>(values, places, count, dim, finite);
  return FindFiniteOf<0>(values, places, count, dim, finite);
}

}  // namespace

void FindFinite(const float* values, const uint32_t* places, size_t count,
                size_t dim, uint8_t* finite) {
  FindFiniteVectors(values, places, count, dim, finite);
}

}  // namespace persia
