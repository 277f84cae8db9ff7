// A digest as the standards' test vectors write it.

#ifndef PERSIA_TESTS_CC_BASE_DIGEST_HEX_H_
#define PERSIA_TESTS_CC_BASE_DIGEST_HEX_H_

#include <string>

#include "cc/base/sha256.h"

namespace persia {

inline std::string DigestHex(const Sha256Digest& digest) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const uint8_t byte : digest) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_BASE_DIGEST_HEX_H_
