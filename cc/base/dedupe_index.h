// DedupeIndex: where in a batch's ids each of them is.
//
// An open-addressing table of places, which are numbered from 1. Small enough
// to stay in a core's cache: a slot has a place and as many bits of the id's
// hash, lest ids that cannot be it are looked at.
//
// Keeps its memory from batch to batch. Not thread-safe.

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
  // first appearance, and for each of the batch which it is, from 0 on, to
  // `inverse`. Returns how many are distinct; or kSlow, where it gave up since
  // its hash spreads these ids badly. Precondition: ids has room for 2 more
  // than the batch.
  size_t Number(Span<const int64_t> batch, int64_t* ids, uint32_t* inverse);

  static constexpr size_t kSlow = ~size_t{0};

  // Slots that the last batch had it look at beside the first of each id.
  size_t away() const { return away_; }

  // Hashes by another key from now on.
  void ChangeHash() { hash_ = KeyedHash(); }

 private:
  // Of one batch: all that its loop needs, so that it is in registers.
  struct Slots {
    KeyedHash hash;
    uint64_t* slots;  // 0: free.
    size_t mask;

    uint32_t FindOrAdd(int64_t id, uint64_t hash_of_id, uint32_t next,
                       int64_t* ids, size_t* away) const;
  };

  // Empties the table, for `count` ids.
  Slots Empty(size_t count);

  KeyedHash hash_;
  Scratch<uint64_t> memory_;
  size_t away_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_BASE_DEDUPE_INDEX_H_
