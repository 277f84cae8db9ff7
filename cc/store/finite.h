#ifndef PERSIA_CC_STORE_FINITE_H_
#define PERSIA_CC_STORE_FINITE_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace persia {

// Returns whether all values are finite, that is, neither NaN nor infinite. The
// loop works on the bits and has no early exit, so that compilers vectorise it.
inline bool AllFinite(const float* values, size_t count) {
  constexpr uint32_t kExponent = 0x7f800000;
  uint32_t found = 0;
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits;
    std::memcpy(&bits, values + i, sizeof(bits));
    found |= (bits & kExponent) == kExponent;
  }
  return found == 0;
}

}  // namespace persia

#endif  // PERSIA_CC_STORE_FINITE_H_
