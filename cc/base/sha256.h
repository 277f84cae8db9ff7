// SHA-256 (FIPS 180-4).
//
// For handshakes, which hash a few hundred bytes per connection: so plain code,
// as in the standard, without the CPU's SHA instructions.
//
// Not thread-safe.

#ifndef PERSIA_CC_BASE_SHA256_H_
#define PERSIA_CC_BASE_SHA256_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "cc/base/span.h"

namespace persia {

inline constexpr size_t kSha256Bytes = 32;
using Sha256Digest = std::array<uint8_t, kSha256Bytes>;

class Sha256 {
 public:
  static constexpr size_t kBlockBytes = 64;

  Sha256();

  void Update(Span<const uint8_t> bytes);

  // The digest of all bytes so far. Call it last, and once.
  Sha256Digest Finish();

 private:
  void Compress(const uint8_t* block);

  std::array<uint32_t, 8> state_;
  std::array<uint8_t, kBlockBytes> block_;
  uint64_t bytes_ = 0;  // In all; the last bytes_ % kBlockBytes are in block_.
};

}  // namespace persia

#endif  // PERSIA_CC_BASE_SHA256_H_
