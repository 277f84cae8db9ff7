#include "cc/wire/vector_kernels.h"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "cc/base/vectorize.h"
#include "cc/store/half.h"
#include "cc/store/int8.h"

namespace persia {
namespace {

// Calls copy(i, bytes), which copies the i-th vector. For common dims `bytes`
// is a constant, so that the copy is a few instructions instead of a call.
template <typename Copy>
void ForEachVector(size_t count, size_t dim, Copy copy) {
  const auto run = [&](auto bytes) {
    for (size_t i = 0; i < count; ++i) copy(i, bytes);
  };
  switch (dim) {
    case 0:
      return;  // Without numbers, pointers may be null: no memcpy.
    case 8:
      return run(std::integral_constant<size_t, 32>());
    case 16:
      return run(std::integral_constant<size_t, 64>());
    case 32:
      return run(std::integral_constant<size_t, 128>());
    case 64:
      return run(std::integral_constant<size_t, 256>());
    default:
      return run(dim * sizeof(float));
  }
}

// Treats adjacent vectors as one long vector, so that the inner loop of a
// kernel starts and ends only once.
struct Joined {
  Joined(VectorPlaces of, size_t dim) : places(of), dim(dim) {
    if (!of.contiguous()) return;
    offset = of.first * dim;
    places = VectorPlaces{1, 0, nullptr};
    this->dim = of.count * dim;
  }

  VectorPlaces places;
  size_t dim;
  size_t offset = 0;
};

// Inlined into each CPU-specific version of a loop, so that its code is
// compiled for that CPU.
template <typename Half>
[[gnu::always_inline]] inline void GatherHalves(const float* all,
                                                VectorPlaces places, size_t dim,
                                                float factor,
                                                uint16_t* __restrict out) {
  for (size_t i = 0; i < places.count; ++i, out += dim) {
    const float* from = all + places[i] * dim;
    for (size_t d = 0; d < dim; ++d) {
      out[d] = Half::NearestOrNonFinite(from[d] * factor);
    }
  }
}

template <typename Half>
[[gnu::always_inline]] inline void ScatterHalves(const uint16_t* from,
                                                 VectorPlaces places,
                                                 size_t dim, float factor,
                                                 float* all) {
  for (size_t i = 0; i < places.count; ++i, from += dim) {
    float* __restrict to = all + places[i] * dim;
    for (size_t d = 0; d < dim; ++d) {
      to[d] = Half::ToFloatOrNonFinite(from[d]) * factor;
    }
  }
}

PERSIA_VECTORIZE void GatherFloat16Loop(const float* all, VectorPlaces places,
                                        size_t dim, float factor,
                                        uint16_t* out) {
  GatherHalves<Float16>(all, places, dim, factor, out);
}

PERSIA_VECTORIZE void GatherBfloat16Loop(const float* all, VectorPlaces places,
                                         size_t dim, uint16_t* out) {
  GatherHalves<Bfloat16>(all, places, dim, 1.0f, out);
}

PERSIA_VECTORIZE void ScatterFloat16Loop(const uint16_t* from,
                                         VectorPlaces places, size_t dim,
                                         float factor, float* all) {
  ScatterHalves<Float16>(from, places, dim, factor, all);
}

PERSIA_VECTORIZE void ScatterBfloat16Loop(const uint16_t* from,
                                          VectorPlaces places, size_t dim,
                                          float* all) {
  ScatterHalves<Bfloat16>(from, places, dim, 1.0f, all);
}

// Compares the bit patterns of magnitudes, which have the same order as the
// magnitudes.
PERSIA_VECTORIZE uint32_t LargestFiniteBits(const float* all,
                                            VectorPlaces places, size_t dim) {
  int32_t largest = 0;  // Signed: older CPUs lack the unsigned comparison.
  for (size_t i = 0; i < places.count; ++i) {
    const float* from = all + places[i] * dim;
    for (size_t d = 0; d < dim; ++d) {
      const uint32_t bits = BitsOf(from[d]) & kMagnitudeBits;
      const auto finite =
          static_cast<int32_t>(bits & MaskIfLess(bits, kInfinityBits));
      largest = finite > largest ? finite : largest;
    }
  }
  return static_cast<uint32_t>(largest);
}

PERSIA_VECTORIZE void GatherInt8Loop(const float* all, VectorPlaces places,
                                     size_t dim, float* scales,
                                     int8_t* __restrict out) {
  // Adding kRound to a small number rounds the small number to an integer,
  // which is then in the lowest bits of the sum.
  constexpr float kRound = 0x1.8p23f;
  for (size_t i = 0; i < places.count; ++i, out += dim) {
    const float* from = all + places[i] * dim;
    uint32_t largest = 0;
    for (size_t d = 0; d < dim; ++d) {
      const uint32_t bits = BitsOf(from[d]) & kMagnitudeBits;
      largest = bits > largest ? bits : largest;
    }
    const Int8Scale scale = NearestInt8Scale(largest);
    scales[i] = scale.scale;
    for (size_t d = 0; d < dim; ++d) {
      out[d] = static_cast<int8_t>(BitsOf(from[d] * scale.inverse + kRound));
    }
  }
}

PERSIA_VECTORIZE void ScatterInt8Loop(const float* scales, const int8_t* from,
                                      VectorPlaces places, size_t dim,
                                      float* all) {
  for (size_t i = 0; i < places.count; ++i, from += dim) {
    DecodeInt8(from, scales[i], dim, all + places[i] * dim);
  }
}

}  // namespace

void GatherFloats(const float* all, VectorPlaces places, size_t dim,
                  float* out) {
  if (places.contiguous()) {
    std::copy_n(all + places.first * dim, places.count * dim, out);
    return;
  }
  ForEachVector(places.count, dim, [&](size_t i, auto bytes) {
    std::memcpy(out + i * dim, all + places.indices[i] * dim, bytes);
  });
}

void ScatterFloats(const float* from, VectorPlaces places, size_t dim,
                   float* all) {
  if (places.contiguous()) {
    std::copy_n(from, places.count * dim, all + places.first * dim);
    return;
  }
  ForEachVector(places.count, dim, [&](size_t i, auto bytes) {
    std::memcpy(all + places.indices[i] * dim, from + i * dim, bytes);
  });
}

float LargestFiniteMagnitude(const float* all, VectorPlaces places,
                             size_t dim) {
  const Joined joined(places, dim);
  return FloatOf(
      LargestFiniteBits(all + joined.offset, joined.places, joined.dim));
}

void GatherFloat16(const float* all, VectorPlaces places, size_t dim,
                   float factor, uint16_t* out) {
  const Joined joined(places, dim);
  GatherFloat16Loop(all + joined.offset, joined.places, joined.dim, factor,
                    out);
}

void ScatterFloat16(const uint16_t* from, VectorPlaces places, size_t dim,
                    float factor, float* all) {
  const Joined joined(places, dim);
  ScatterFloat16Loop(from, joined.places, joined.dim, factor,
                     all + joined.offset);
}

void GatherBfloat16(const float* all, VectorPlaces places, size_t dim,
                    uint16_t* out) {
  const Joined joined(places, dim);
  GatherBfloat16Loop(all + joined.offset, joined.places, joined.dim, out);
}

void ScatterBfloat16(const uint16_t* from, VectorPlaces places, size_t dim,
                     float* all) {
  const Joined joined(places, dim);
  ScatterBfloat16Loop(from, joined.places, joined.dim, all + joined.offset);
}

void GatherInt8(const float* all, VectorPlaces places, size_t dim,
                float* scales, int8_t* out) {
  GatherInt8Loop(all, places, dim, scales, out);
}

void ScatterInt8(const float* scales, const int8_t* from, VectorPlaces places,
                 size_t dim, float* all) {
  ScatterInt8Loop(scales, from, places, dim, all);
}

}  // namespace persia
