// Hash functions. The results of HashName and HashForSlot determine where rows
// are stored. They are part of the protocol, so neither function may ever
// change.

#ifndef PERSIA_CC_BASE_HASH_H_
#define PERSIA_CC_BASE_HASH_H_

#include <cstdint>
#include <string_view>

namespace persia {

// The splitmix64 generator's output function (Steele, Lea and Flood, OOPSLA
// 2014): a bijection of 64 bits in which every input bit affects every output
// bit.
inline uint64_t Mix64(uint64_t x) {
  x += 0x9e3779b97f4a7c15ull;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
  return x ^ (x >> 31);
}

// Hashes an id within a shard's store: the hash selects the row's sub-shard,
// decides about its admission and seeds its initial values. In-memory indexes
// use a KeyedHash instead.
inline uint64_t HashId(int64_t id) { return Mix64(static_cast<uint64_t>(id)); }

// Hashes an id to find its slot, whose owner holds the id's row: see slots.h.
// This hash must be independent of HashId: if both were the same, the ids of
// one shard would fall into only some of its sub-shards.
inline uint64_t HashForSlot(int64_t id) {
  return Mix64(static_cast<uint64_t>(id) ^ 0x5ca1ab1e0ddba11ull);
}

// Returns the key of the table called `name`: FNV-1a over the bytes, then
// Mix64.
inline uint64_t HashName(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  }
  return Mix64(hash);
}

}  // namespace persia

#endif  // PERSIA_CC_BASE_HASH_H_
