// KeyedHash: the hash of in-memory indexes, with a secret random key. HashId
// and ShardOf are public functions: an attacker who chooses ids can make any
// number of them collide. With a secret key that is not possible.
//
// A value is multiplied by a random 128-bit number, another one is added, and
// the upper 64 bits of the sum modulo 2^128 are taken (Dietzfelbinger, STACS
// 1996: modulo 2^k with k >= 64 + 64 - 1). Over all keys, the hashes of any two
// values are then uniform and independent of each other: for any choice of n
// values, two of them agree in any given m bits with probability 2^-m, and
// n^2 / 2^(m + 1) pairs do on average. The steps after that are a bijection, so
// they preserve this property; without them the hashes of 0, 1, 2, ... would
// be equally spaced, which spreads common ids well under some keys and badly
// under others.
//
// Results must not depend on this hash: whatever is stored, sent, or equal in
// two processes uses cc/base/hash.h. Immutable, so thread-safe; a copy has the
// same key.

#ifndef PERSIA_CC_BASE_KEYED_HASH_H_
#define PERSIA_CC_BASE_KEYED_HASH_H_

#include <cstddef>
#include <cstdint>

namespace persia {

class KeyedHash {
 public:
  struct Key {
    uint64_t factor_high, factor_low, summand_high, summand_low;
  };

  // Draws a random key. Each index needs its own: a walk over one index yields
  // ids in the order of their hashes, and inserting them in that order into an
  // index with the same key would make them cluster. Calls FillWithRandomBytes.
  KeyedHash();
  explicit KeyedHash(const Key& key) : key_(key) {}

  // A random key, unless $PERSIA_HASH_SEED is set at the process's first call:
  // then the key is derived from that text and `number`, for reproducible runs.
  // Anyone who knows the text knows the key.
  static KeyedHash Numbered(uint64_t number);

  uint64_t operator()(uint64_t value) const noexcept {
    using Wide = unsigned __int128;
    const Wide summand = Wide{key_.summand_high} << 64 | key_.summand_low;
    const Wide sum = Wide{key_.factor_low} * value + summand;
    const uint64_t upper =
        static_cast<uint64_t>(sum >> 64) + key_.factor_high * value;
    const uint64_t mixed = (upper ^ upper >> 32) * kOdd;
    return mixed ^ mixed >> 32;
  }

 private:
  static constexpr uint64_t kOdd = 0x9e3779b97f4a7c15ull;  // 2^64 / phi.

  Key key_;
};

}  // namespace persia

#endif  // PERSIA_CC_BASE_KEYED_HASH_H_
