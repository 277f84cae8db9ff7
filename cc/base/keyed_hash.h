// KeyedHash: the hash function of in-memory indexes, with a secret random key.
// An attacker who chooses ids can make any number of them collide under HashId
// and SlotOf, which are public functions, but not under a secret key.
//
// The hash multiplies a value by a random 128-bit number, adds another random
// number, and takes the upper 64 bits of the sum modulo 2^128 (Dietzfelbinger,
// STACS 1996: modulo 2^k with k >= 64 + 64 - 1). Over all keys, the hashes of
// any two values are then uniform and independent of each other. Two given
// values therefore agree in any given m bits with probability 2^-m, and among n
// values n^2 / 2^(m + 1) pairs do so on average. The last steps of the hash are
// a bijection, which preserves this property. Without these steps, the hashes
// of 0, 1, 2, ... would be equally spaced, which spreads common ids well under
// some keys and badly under others.
//
// No result may depend on this hash: whatever is stored, sent, or must be equal
// in two processes uses cc/base/hash.h. A KeyedHash is immutable, and so
// thread-safe; a copy has the same key.

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

  // Draws a random key with FillWithRandomBytes. Each index needs a key of its
  // own: iterating over an index yields ids in the order of their hashes, and
  // inserting ids in that order into an index with the same key would make them
  // cluster.
  KeyedHash();
  explicit KeyedHash(const Key& key) : key_(key) {}

  // Returns a hash with a random key. For reproducible runs, $PERSIA_HASH_SEED
  // can be set before the process's first call: the key is then derived from
  // that text and `number`, and anyone who knows the text knows the key.
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
  // 2^64 divided by the golden ratio, which mixes the bits well.
  static constexpr uint64_t kOdd = 0x9e3779b97f4a7c15ull;

  Key key_;
};

}  // namespace persia

#endif  // PERSIA_CC_BASE_KEYED_HASH_H_
