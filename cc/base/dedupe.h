// Dedupe: removes duplicate ids from a batch. ExpandRows copies the rows of
// unique ids to all positions of the batch, and AddGradients sums the batch's
// gradients per unique id.

#ifndef PERSIA_CC_BASE_DEDUPE_H_
#define PERSIA_CC_BASE_DEDUPE_H_

#include <cstdint>
#include <vector>

#include "cc/base/slots.h"
#include "cc/base/span.h"
#include "cc/base/strided_span.h"

namespace persia {

class DedupeIndex;

// The distinct ids of a batch, and the position of each batch element among
// them: ids[inverse[i]] is the batch's i-th id. If the batch has no duplicates,
// inverse is 0, 1, 2, ...
struct UniqueIds {
  std::vector<int64_t> ids;
  std::vector<uint32_t> inverse;
  // If the ids are grouped by shard: the index in `ids` of each shard's first
  // id, and, as a last entry, the number of ids; and the fingerprint of the
  // owners by which they are grouped. Otherwise empty and 0.
  std::vector<uint32_t> shard_starts;
  uint64_t starts_of = 0;

  bool had_duplicates() const { return ids.size() != inverse.size(); }
};

// Returns the distinct ids in order of first appearance. Precondition: the
// batch has fewer than 2^31 ids. The time is never quadratic, even for ids
// chosen by an attacker: if too many ids collide in the hash table, the
// function sorts the ids instead. Thread-safe: each thread retains its own hash
// table between calls.
UniqueIds Dedupe(Span<const int64_t> batch);

// Like Dedupe(batch), but with the caller's hash table.
UniqueIds Dedupe(Span<const int64_t> batch, DedupeIndex* index);

// Like Dedupe(batch), but sorts instead of hashing, which is slower.
UniqueIds DedupeBySorting(Span<const int64_t> batch);

// Like Dedupe(batch), but if the batch has duplicates, orders the distinct ids
// by the owners of their slots, those of one owner by first appearance, and
// sets shard_starts. Each shard's ids are then contiguous, so sending them and
// receiving their rows needs no copy.
// `owners` may be null: the ids are then not grouped.
UniqueIds Dedupe(Span<const int64_t> batch, const SlotOwners* owners);

// Sets out[i] = rows[inverse[i]], where each row has `dim` floats.
void ExpandRows(Span<const uint32_t> inverse, Span<const float> rows,
                size_t dim, StridedSpan<float> out);
inline void ExpandRows(const UniqueIds& unique, Span<const float> rows,
                       size_t dim, StridedSpan<float> out) {
  ExpandRows(Span<const uint32_t>(unique.inverse), rows, dim, out);
}

// Adds gradients[i] to sums[inverse[i]], in order of i, where each gradient has
// `dim` floats.
void AddGradients(Span<const uint32_t> inverse,
                  StridedSpan<const float> gradients, size_t dim,
                  Span<float> sums);

}  // namespace persia

#endif  // PERSIA_CC_BASE_DEDUPE_H_
