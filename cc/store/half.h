// Conversions between float32 and 16-bit floats, on bit patterns and without
// branches, so that loops over them are vectorised. Finite numbers stay finite:
// a number that is too large becomes the largest one of its sign. Only the
// functions named ...OrNonFinite preserve infinities and NaN.

#ifndef PERSIA_CC_STORE_HALF_H_
#define PERSIA_CC_STORE_HALF_H_

#include <cstdint>
#include <cstring>

namespace persia {

// The bits of a float without its sign, and those of infinity.
constexpr uint32_t kMagnitudeBits = 0x7fffffff;
constexpr uint32_t kInfinityBits = 0x7f800000;

inline uint32_t BitsOf(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}

inline float FloatOf(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// Returns a mask of all ones if a < b, otherwise 0. Both must be below 2^31.
// Values are selected by such masks and not by ?:, which a compiler may turn
// into a branch, since a branch prevents vectorisation.
inline uint32_t MaskIfLess(uint32_t a, uint32_t b) {
  return static_cast<uint32_t>(static_cast<int32_t>(a - b) >> 31);
}

inline uint32_t Select(uint32_t mask, uint32_t if_ones, uint32_t if_zeros) {
  return (if_ones & mask) | (if_zeros & ~mask);
}

// Returns `finite` if `value` is finite, otherwise `infinity` or `nan` with the
// sign of `value`.
inline uint16_t KeepNonFinite(float value, uint16_t finite, uint32_t infinity,
                              uint32_t nan) {
  const uint32_t magnitude = BitsOf(value) & kMagnitudeBits;
  const uint32_t sign = BitsOf(value) >> 16 & 0x8000;
  const uint32_t other =
      sign | Select(MaskIfLess(kInfinityBits, magnitude), nan, infinity);
  return static_cast<uint16_t>(
      Select(MaskIfLess(magnitude, kInfinityBits), finite, other));
}

// bfloat16: the upper half of a float32.
struct Bfloat16 {
  static float ToFloat(uint16_t half) {
    return FloatOf(static_cast<uint32_t>(half) << 16);
  }

  // Adds `add` (below 2^16) to the lower half of the bits and then drops that
  // half, so that `add` decides how the value is rounded.
  static uint16_t FromFloat(float value, uint32_t add) {
    constexpr uint32_t kLargest = 0x7f7f;
    const uint32_t bits = BitsOf(value);
    const uint32_t sign = bits >> 16 & 0x8000;
    const uint32_t magnitude = ((bits & kMagnitudeBits) + add) >> 16;
    return static_cast<uint16_t>(sign |
                                 (magnitude > kLargest ? kLargest : magnitude));
  }

  static uint16_t Nearest(float value) {
    // A value half-way between two neighbours is rounded to the even one.
    return FromFloat(value, 0x7fff + (BitsOf(value) >> 16 & 1));
  }

  // Rounds stochastically. The lower 16 bits of `random` must be random.
  static uint16_t Randomly(float value, uint32_t random) {
    return FromFloat(value, random & 0xffff);
  }

  static float ToFloatOrNonFinite(uint16_t half) { return ToFloat(half); }

  static uint16_t NearestOrNonFinite(float value) {
    return KeepNonFinite(value, Nearest(value), 0x7f80, 0x7fc0);
  }
};

// IEEE binary16.
struct Float16 {
  static float ToFloat(uint16_t half) {
    const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16;
    // The exponent moves from bias 15 to 127. A subnormal gets the exponent of
    // the smallest normal number instead; a subtraction then removes the
    // implicit leading 1.
    const uint32_t shifted = static_cast<uint32_t>(half & 0x7fff) << 13;
    const uint32_t subnormal = MaskIfLess(half & 0x7c00, 1);
    const float normal = FloatOf(shifted + (112u << 23));
    const float least = FloatOf(shifted + (113u << 23)) - FloatOf(113u << 23);
    return FloatOf(Select(subnormal, BitsOf(least), BitsOf(normal)) | sign);
  }

  static uint16_t Nearest(float value) {
    const uint32_t bits = BitsOf(value) & kMagnitudeBits;
    // A value half-way between two neighbours is rounded to the even one. For a
    // subnormal, adding 0.5 makes the FPU round.
    const uint32_t normal = (bits + 0xfff + (bits >> 13 & 1)) >> 13;
    const uint32_t subnormal = BitsOf(FloatOf(bits) + 0.5f) - BitsOf(0.5f);
    return Join(value, bits, normal, subnormal);
  }

  static float ToFloatOrNonFinite(uint16_t half) {
    const uint32_t bits = static_cast<uint32_t>(half);
    const uint32_t other = (bits & 0x8000) << 16 | (bits & 0x3ff) << 13;
    const uint32_t finite = MaskIfLess(bits & 0x7c00, 0x7c00);
    return FloatOf(
        Select(finite, BitsOf(ToFloat(half)), other | kInfinityBits));
  }

  static uint16_t NearestOrNonFinite(float value) {
    return KeepNonFinite(value, Nearest(value), 0x7c00, 0x7e00);
  }

  // Rounds stochastically. The lower 16 bits of `random` must be random.
  static uint16_t Randomly(float value, uint32_t random) {
    const uint32_t bits = BitsOf(value) & kMagnitudeBits;
    const uint32_t normal = (bits + (random & 0x1fff)) >> 13;
    // `units` is the value in units of the smallest subnormal, 2^-24. Its
    // fractional part is compared with a random number: adding the two would
    // lose digits.
    const float units = FloatOf(bits) * 0x1p24f;
    const float bounded = units < 2048.0f ? units : 0.0f;
    const auto whole = static_cast<int32_t>(bounded);
    const float above = bounded - static_cast<float>(whole);
    const float fraction = static_cast<float>(random & 0xffff) * 0x1p-16f;
    const auto subnormal =
        static_cast<uint32_t>(whole + (above > fraction ? 1 : 0));
    return Join(value, bits, normal, subnormal);
  }

 private:
  static uint16_t Join(float value, uint32_t bits, uint32_t normal,
                       uint32_t subnormal) {
    constexpr uint32_t kLeastNormal = 113u << 23;  // The bits of 2^-14.
    constexpr uint32_t kLargest = 0x7bff;
    const uint32_t sign = BitsOf(value) >> 16 & 0x8000;
    uint32_t rebiased = normal - (112u << 10);
    rebiased = rebiased > kLargest ? kLargest : rebiased;
    return static_cast<uint16_t>(
        sign | Select(MaskIfLess(bits, kLeastNormal), subnormal, rebiased));
  }
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_HALF_H_
