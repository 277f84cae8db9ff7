// PutField and GetField: write and read numbers at fixed offsets of a binary
// header, in little-endian order.
//
// Thread-safety: pure functions.

#ifndef PERSIA_CC_BASE_HEADER_FIELDS_H_
#define PERSIA_CC_BASE_HEADER_FIELDS_H_

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace persia {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "headers are written as they lie in memory");

template <typename T>
void PutField(uint8_t* header, size_t at, T value) {
  std::memcpy(header + at, &value, sizeof(value));
}

template <typename T>
T GetField(const uint8_t* header, size_t at) {
  T value;
  std::memcpy(&value, header + at, sizeof(value));
  return value;
}

}  // namespace persia

#endif  // PERSIA_CC_BASE_HEADER_FIELDS_H_
