// An index whose hashes are known, and the ids that have given hashes.

#ifndef PERSIA_TESTS_CC_STORE_CHOSEN_IDS_H_
#define PERSIA_TESTS_CC_STORE_CHOSEN_IDS_H_

#include <cstdint>

#include "cc/base/hash.h"
#include "cc/store/row_index.h"

namespace persia {

inline uint64_t UndoShift(uint64_t x, int shift) {
  uint64_t undone = x;
  for (int known = shift; known < 64; known += shift) {
    undone = x ^ (undone >> shift);
  }
  return undone;
}

// The inverse of the odd number modulo 2^64, by Newton's iteration.
inline uint64_t Inverse(uint64_t odd) {
  uint64_t inverse = odd;
  for (int bits = 3; bits < 64; bits *= 2) inverse *= 2 - odd * inverse;
  return inverse;
}

// With this key the hash is a bijection that the tests can invert.
inline const KeyedHash kKnown(KeyedHash::Key{1, 0, 0, 0});

class KnownIndex : public RowIndex {
 public:
  KnownIndex() : RowIndex(nullptr, AtLimit::kThrow, kKnown) {}
};

// The id of a hash by the known key.
inline int64_t IdOfHash(uint64_t hash) {
  return static_cast<int64_t>(
      UndoShift(UndoShift(hash, 32) * Inverse(0x9e3779b97f4a7c15ull), 32));
}

// The id of a hash by HashId, which everybody knows and which is a bijection
// too.
inline int64_t IdOfPublishedHash(uint64_t hash) {
  uint64_t x = UndoShift(hash, 31) * Inverse(0x94d049bb133111ebull);
  x = UndoShift(x, 27) * Inverse(0xbf58476d1ce4e5b9ull);
  x = UndoShift(x, 30) - 0x9e3779b97f4a7c15ull;
  return static_cast<int64_t>(x);
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_STORE_CHOSEN_IDS_H_
