// Removes a batch's duplicate ids, expands rows of unique ids to the batch, and
// sums the batch's gradients per unique id.

#ifndef PERSIA_CC_BASE_DEDUPE_H_
#define PERSIA_CC_BASE_DEDUPE_H_

#include <cstdint>
#include <vector>

#include "cc/base/span.h"

namespace persia {

class DedupeIndex;

// Invariant: ids are distinct, and ids[inverse[i]] is the batch's i-th id. If
// the batch has no duplicates, inverse is 0, 1, 2, ...
struct UniqueIds {
  std::vector<int64_t> ids;
  std::vector<uint32_t> inverse;

  bool had_duplicates() const { return ids.size() != inverse.size(); }
};

// Returns the ids in order of first appearance. Precondition: fewer than 2^31
// ids. Thread-safe: each thread retains a hash table between calls. No choice
// of ids makes it quadratic: if too many ids collide, it sorts instead.
UniqueIds Dedupe(Span<const int64_t> batch);

// The same, with the caller's hash table.
UniqueIds Dedupe(Span<const int64_t> batch, DedupeIndex* index);

// The same, without a hash, and slower.
UniqueIds DedupeBySorting(Span<const int64_t> batch);

// The same, but if the batch has duplicates, the ids are ordered by ShardOf,
// and by first appearance within a shard: each shard's ids are contiguous, so
// they are sent, and their rows are received, without a copy.
UniqueIds Dedupe(Span<const int64_t> batch, uint32_t shard_count);

// out[i] = rows[inverse[i]], where each row has `dim` floats.
void ExpandRows(Span<const uint32_t> inverse, Span<const float> rows,
                size_t dim, Span<float> out);
inline void ExpandRows(const UniqueIds& unique, Span<const float> rows,
                       size_t dim, Span<float> out) {
  ExpandRows(Span<const uint32_t>(unique.inverse), rows, dim, out);
}

// sums[inverse[i]] += gradients[i], in order of i, where each gradient has
// `dim` floats.
void AddGradients(Span<const uint32_t> inverse, Span<const float> gradients,
                  size_t dim, Span<float> sums);

}  // namespace persia

#endif  // PERSIA_CC_BASE_DEDUPE_H_
