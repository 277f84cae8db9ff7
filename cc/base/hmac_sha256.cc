#include "cc/base/hmac_sha256.h"

#include <algorithm>
#include <array>

namespace persia {
namespace {

using KeyBlock = std::array<uint8_t, Sha256::kBlockBytes>;

// A key of any length as one block: padded with zeros; hashed first if it is
// longer than a block.
KeyBlock AsBlock(std::string_view key) {
  KeyBlock block = {};
  if (key.size() <= block.size()) {
    std::copy(key.begin(), key.end(), block.begin());
    return block;
  }
  Sha256 hash;
  hash.Update(AsBytes(key));
  const Sha256Digest digest = hash.Finish();
  std::copy(digest.begin(), digest.end(), block.begin());
  return block;
}

KeyBlock Masked(KeyBlock block, uint8_t mask) {
  for (uint8_t& byte : block) byte ^= mask;
  return block;
}

}  // namespace

Sha256Digest HmacSha256(std::string_view key,
                        std::initializer_list<Span<const uint8_t>> parts) {
  const KeyBlock block = AsBlock(key);
  Sha256 inner;
  inner.Update(Masked(block, 0x36));
  for (const Span<const uint8_t> part : parts) inner.Update(part);
  Sha256 outer;
  outer.Update(Masked(block, 0x5c));
  outer.Update(inner.Finish());
  return outer.Finish();
}

bool EqualInConstantTime(const Sha256Digest& a, const Sha256Digest& b) {
  // Volatile, so that the compiler cannot add an early exit.
  volatile uint8_t difference = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference = static_cast<uint8_t>(difference | (a[i] ^ b[i]));
  }
  return difference == 0;
}

}  // namespace persia
