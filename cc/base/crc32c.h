// CRC-32C (Castagnoli): the checksum of frames, log records and checkpoint
// blocks.

#ifndef PERSIA_CC_BASE_CRC32C_H_
#define PERSIA_CC_BASE_CRC32C_H_

#include <cstddef>
#include <cstdint>

namespace persia {

// Given `crc`, the checksum of some data (0 if there is none), returns the
// checksum of that data followed by `bytes`. Thread-safe.
uint32_t ExtendCrc32c(uint32_t crc, const void* bytes, size_t size);

inline uint32_t Crc32c(const void* bytes, size_t size) {
  return ExtendCrc32c(0, bytes, size);
}

namespace internal {

// ExtendCrc32c calls this on a CPU without a CRC-32C instruction.
uint32_t ExtendCrc32cPortable(uint32_t crc, const void* bytes, size_t size);

}  // namespace internal
}  // namespace persia

#endif  // PERSIA_CC_BASE_CRC32C_H_
