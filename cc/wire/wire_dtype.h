// WireDtype: how the numbers of rows and gradients are encoded in messages.
//
// The values are part of the protocol: never renumber.

#ifndef PERSIA_CC_WIRE_WIRE_DTYPE_H_
#define PERSIA_CC_WIRE_WIRE_DTYPE_H_

#include <cstdint>
#include <string>
#include <utility>

#include "cc/base/status.h"

namespace persia {

enum class WireDtype : uint32_t {
  kFloat32 = 0,   // Numbers are sent unchanged.
  kFloat16 = 1,   // 11 significant bits, and one scale per table.
  kBfloat16 = 2,  // 8 significant bits.
  kInt8 = 3,      // Steps of 1/127 of each vector's largest magnitude.
  kInt4 = 4,      // Steps of 1/7 of each vector's largest magnitude.
};

inline Status CheckWireDtype(WireDtype dtype) {
  if (dtype <= WireDtype::kInt4) return Status();
  return InvalidArgument("wire dtype must be 0 to 4, received ",
                         static_cast<uint32_t>(dtype));
}

// Parses a dtype's name as settings use it, such as "float16".
inline Result<WireDtype> ParseWireDtype(const std::string& name) {
  for (const auto& [known, dtype] :
       {std::pair("float32", WireDtype::kFloat32),
        std::pair("float16", WireDtype::kFloat16),
        std::pair("bfloat16", WireDtype::kBfloat16),
        std::pair("int8", WireDtype::kInt8),
        std::pair("int4", WireDtype::kInt4)}) {
    if (name == known) return dtype;
  }
  return InvalidArgument(
      "wire_dtype must be float32, float16, bfloat16, int8 or int4, received "
      "\"",
      name, "\"");
}

}  // namespace persia

#endif  // PERSIA_CC_WIRE_WIRE_DTYPE_H_
