#include "cc/base/keyed_hash.h"

#include <chrono>
#include <cstdlib>
#include <optional>

#include "cc/base/hash.h"
#include "cc/base/random_bytes.h"

namespace persia {
namespace {

using Key = KeyedHash::Key;

// Expands one number to a key, which is only as secret as that number.
Key Spread(uint64_t number) {
  return {Mix64(number), Mix64(number + 1), Mix64(number + 2),
          Mix64(number + 3)};
}

Key RandomKey() {
  Key key;
  const Span<uint8_t> bytes(reinterpret_cast<uint8_t*>(&key), sizeof(key));
  if (FillWithRandomBytes(bytes).ok()) return key;
  // The kernel provided no random bytes, so the key is derived from the clock
  // and an address, which are harder to guess than a constant.
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return Spread(Mix64(static_cast<uint64_t>(now)) ^
                reinterpret_cast<uintptr_t>(&key));
}

std::optional<uint64_t> SeedOfEnvironment() {
  const char* const text = std::getenv("PERSIA_HASH_SEED");
  if (text == nullptr || *text == 0) return std::nullopt;
  return HashName(text);
}

}  // namespace

KeyedHash::KeyedHash() : key_(RandomKey()) {}

KeyedHash KeyedHash::Numbered(uint64_t number) {
  static const std::optional<uint64_t> seed = SeedOfEnvironment();
  return seed ? KeyedHash(Spread(Mix64(*seed ^ Mix64(number)))) : KeyedHash();
}

}  // namespace persia
