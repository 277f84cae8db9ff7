// DedupeIndex: numbers the distinct ids of a batch, from 1 in order of first
// appearance.
//
// An open-addressing hash table maps an id to its place, which is its index in
// the array of distinct ids. To fit the table into a core's cache, a slot has
// only 64 bits: a 32-bit place and 32 bits of the id's hash. A lookup reads the
// array only when these hash bits match.
//
// The table's memory is retained between batches. Not thread-safe.

#ifndef PERSIA_CC_BASE_DEDUPE_INDEX_H_
#define PERSIA_CC_BASE_DEDUPE_INDEX_H_

#include <cstddef>
#include <cstdint>

#include "cc/base/keyed_hash.h"
#include "cc/base/scratch.h"
#include "cc/base/span.h"

namespace persia {

class DedupeIndex {
 public:
  explicit DedupeIndex(const KeyedHash& hash = KeyedHash()) : hash_(hash) {}

  // Writes the distinct ids of the batch to ids[1], ids[2], ... in order of
  // first appearance. Sets inverse[i] to the index of the batch's i-th id among
  // the distinct ids, counted from 0. Returns the number of distinct ids, or
  // kSlow if the function gave up because too many ids collide. Precondition:
  // `ids` has room for batch.size() + 2 ids.
  size_t Number(Span<const int64_t> batch, int64_t* ids, uint32_t* inverse);

  static constexpr size_t kSlow = ~size_t{0};

  // How many slots the last batch probed in addition to the first slot of each
  // id.
  size_t away() const { return away_; }

  // Draws a new random hash key, which later batches use.
  void ChangeHash() { hash_ = KeyedHash(); }

 private:
  // The fields that the loop over one batch needs. The loop has its own copy of
  // them, so that the compiler can hold them in registers.
  struct Slots {
    KeyedHash hash;
    uint64_t* slots;  // The value 0 means that a slot is free.
    size_t mask;

    uint32_t FindOrAdd(int64_t id, uint64_t hash_of_id, uint32_t next,
                       int64_t* ids, size_t* away) const;
  };

  // Returns an empty table with room for `count` ids.
  Slots Empty(size_t count);

  KeyedHash hash_;
  Scratch<uint64_t> memory_;
  size_t away_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_BASE_DEDUPE_INDEX_H_
