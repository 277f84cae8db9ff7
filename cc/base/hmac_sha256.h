// HMAC-SHA-256 (RFC 2104): proves that its sender knows a key. Thread-safe.

#ifndef PERSIA_CC_BASE_HMAC_SHA256_H_
#define PERSIA_CC_BASE_HMAC_SHA256_H_

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "cc/base/sha256.h"
#include "cc/base/span.h"

namespace persia {

// The HMAC of the concatenation of `parts`.
Sha256Digest HmacSha256(std::string_view key,
                        std::initializer_list<Span<const uint8_t>> parts);

// Takes a time that does not depend on where they differ: otherwise an attacker
// could guess a proof byte by byte.
bool EqualInConstantTime(const Sha256Digest& a, const Sha256Digest& b);

inline Span<const uint8_t> AsBytes(std::string_view text) {
  return Span<const uint8_t>(reinterpret_cast<const uint8_t*>(text.data()),
                             text.size());
}

}  // namespace persia

#endif  // PERSIA_CC_BASE_HMAC_SHA256_H_
