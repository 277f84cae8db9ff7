#include "cc/tls/hmac_sha256.h"

#include <openssl/crypto.h>
#include <openssl/hmac.h>

#include <vector>

#include "cc/tls/openssl.h"

namespace persia {

Result<Sha256Digest> HmacSha256(
    std::string_view key, std::initializer_list<Span<const uint8_t>> parts) {
  std::vector<uint8_t> text;
  for (const Span<const uint8_t> part : parts) {
    text.insert(text.end(), part.begin(), part.end());
  }
  Sha256Digest digest;
  if (StartOpenSsl() &&
      HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), text.data(),
           text.size(), digest.data(), nullptr) != nullptr) {
    return digest;
  }
  return Status(Code::kInternal,
                Concat("HMAC-SHA-256 has failed: ", TakeReason()));
}

bool EqualInConstantTime(const Sha256Digest& a, const Sha256Digest& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace persia
