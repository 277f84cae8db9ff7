#include "benchmarks/chosen_ids/chosen.h"

#include "cc/base/hash.h"

namespace persia::bench {
namespace {

uint64_t UndoShift(uint64_t x, int shift) {
  uint64_t undone = x;
  for (int known = shift; known < 64; known += shift) {
    undone = x ^ (undone >> shift);
  }
  return undone;
}

// The inverse of the odd number modulo 2^64, by Newton's iteration.
uint64_t Inverse(uint64_t odd) {
  uint64_t inverse = odd;
  for (int bits = 3; bits < 64; bits *= 2) inverse *= 2 - odd * inverse;
  return inverse;
}

// HashId's inverse.
int64_t IdOfHash(uint64_t hash) {
  uint64_t x = UndoShift(hash, 31) * Inverse(0x94d049bb133111ebull);
  x = UndoShift(x, 27) * Inverse(0xbf58476d1ce4e5b9ull);
  x = UndoShift(x, 30) - 0x9e3779b97f4a7c15ull;
  return static_cast<int64_t>(x);
}

}  // namespace

std::vector<int64_t> IdsOf(const std::string& name, size_t count,
                           uint64_t seed) {
  std::vector<int64_t> ids;
  for (uint64_t i = 0; i < count; ++i) {
    // A bijection of i, so that all ids are distinct.
    const uint64_t number = seed << 32 | i;
    if (name == "random") {
      ids.push_back(static_cast<int64_t>(Mix64(Mix64(number))));
    } else if (name == "lower_bits") {
      ids.push_back(IdOfHash(number << 32 | seed));
    } else if (name == "upper_bits") {
      ids.push_back(IdOfHash(seed << 52 | i << 12));
    } else if (name == "sub_shard") {
      ids.push_back(IdOfHash(Mix64(number) << 12));
    }
  }
  return ids;
}

}  // namespace persia::bench
