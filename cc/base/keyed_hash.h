// KeyedHash: decides places in memory, by a key that nobody who chooses what is
// hashed can know. HashId and ShardOf are published: whoever chooses ids can
// have any number of them fall on one place.
//
// A value is multiplied by a random number of 128 bits, another one is added,
// and the upper 64 bits of the sum modulo 2^128 are taken (Dietzfelbinger,
// STACS 1996: modulo 2^k with k >= 64 + 64 - 1). The hashes of any two values
// are then uniform and independent of each other, over all keys: whatever n
// values are chosen, two of them share any m bits with a probability of 2^-m,
// and n^2 / 2^(m + 1) pairs do on average. What follows is a bijection, so it
// keeps that; it breaks up the steps in which a product puts 0, 1, 2, ..., lest
// some keys spread common ids better than others.
//
// Results must not depend on it: what is stored, sent, or the same in two
// processes hangs on cc/base/hash.h. Immutable, so thread-safe; a copy hashes
// alike.

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

  // A random key of its own: two indexes never put one order of ids, which a
  // walk over one may be, on each other's places. Asks the kernel; see
  // FillWithRandomBytes.
  KeyedHash();
  explicit KeyedHash(const Key& key) : key_(key) {}

  // A random key, unless $PERSIA_HASH_SEED is set when the process first asks:
  // then the key is of that text and `number`, for runs that must be the same
  // in what else is left to chance. Who knows the text knows the key.
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
