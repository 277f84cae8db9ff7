// DedupeIndex: numbers the distinct ids of a batch.
//
// An open-addressing hash table of places in the array of distinct ids; places
// start at 1. A slot has 64 bits, so that the table stays in a core's cache: a
// 32-bit place and 32 bits of the id's hash. An id is compared only where these
// hash bits match.
//
// Retains its memory between batches. Not thread-safe.

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
  // first appearance, and for each id of the batch its index among the distinct
  // ids, from 0, to `inverse`. Returns the number of distinct ids, or kSlow if
  // it gave up because too many ids collide. Precondition: `ids` has room for
  // batch.size() + 2 ids.
  size_t Number(Span<const int64_t> batch, int64_t* ids, uint32_t* inverse);

  static constexpr size_t kSlow = ~size_t{0};

  // The number of slots that the last batch probed beyond each id's first slot.
  size_t away() const { return away_; }

  // Uses a new random key from now on.
  void ChangeHash() { hash_ = KeyedHash(); }

 private:
  // What the loop over one batch needs: a local copy, so that the compiler can
  // hold it in registers.
  struct Slots {
    KeyedHash hash;
    uint64_t* slots;  // 0: free.
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
