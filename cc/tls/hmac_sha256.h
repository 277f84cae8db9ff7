// HMAC-SHA-256 (RFC 2104), by OpenSSL. The HMAC of a text proves that its
// sender knows the key. Thread-safe.

#ifndef PERSIA_CC_TLS_HMAC_SHA256_H_
#define PERSIA_CC_TLS_HMAC_SHA256_H_

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "cc/base/span.h"
#include "cc/base/status.h"

namespace persia {

using Sha256Digest = std::array<uint8_t, 32>;

// The HMAC of the concatenation of `parts`. kInternal if OpenSSL fails.
Result<Sha256Digest> HmacSha256(
    std::string_view key, std::initializer_list<Span<const uint8_t>> parts);

// Compares two digests in a time that does not depend on where they differ.
// Otherwise an attacker could guess a digest byte by byte.
bool EqualInConstantTime(const Sha256Digest& a, const Sha256Digest& b);

inline Span<const uint8_t> AsBytes(std::string_view text) {
  return Span<const uint8_t>(reinterpret_cast<const uint8_t*>(text.data()),
                             text.size());
}

}  // namespace persia

#endif  // PERSIA_CC_TLS_HMAC_SHA256_H_
