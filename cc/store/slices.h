// Functions that prefetch rows one slice (kSlice rows) ahead of their use.

#ifndef PERSIA_CC_STORE_SLICES_H_
#define PERSIA_CC_STORE_SLICES_H_

#include <algorithm>
#include <cstddef>
#include <vector>

#include "cc/base/prefetch.h"
#include "cc/base/scratch.h"
#include "cc/store/row_index.h"

namespace persia {

// How many rows are prefetched before the first of them is used.
inline constexpr size_t kSlice = 24;

// How much of a row is prefetched; the CPU's own prefetcher loads the rest of a
// longer row.
inline constexpr size_t kMostPrefetchBytes = 256;

inline constexpr size_t kPrefetchLine = 64;

template <For kUse>
void PrefetchStart(const std::byte* memory, size_t bytes) {
  const size_t end = std::min(bytes, kMostPrefetchBytes);
  for (size_t at = 0; at < end; at += kPrefetchLine)
    Prefetch<kUse>(memory + at);
  if (end % kPrefetchLine != 0) Prefetch<kUse>(memory + end - 1);
}

// Calls prefetch_one(i) for each row of the first slice of `count` rows.
template <typename PrefetchOne>
void PrefetchFirst(size_t count, const PrefetchOne& prefetch_one) {
  for (size_t i = 0; i < std::min(kSlice, count); ++i) prefetch_one(i);
}

// Call this after PrefetchFirst. For each slice of the rows, it first calls
// prefetch_one(i) for each row of the next slice, and then use(begin, end) for
// the slice itself. So a slice is used some time after it was prefetched.
template <typename PrefetchOne, typename Use>
void InSlices(size_t count, const PrefetchOne& prefetch_one, const Use& use) {
  size_t prefetched = std::min(kSlice, count);
  for (size_t begin = 0; begin < count;) {
    const size_t end = prefetched;
    prefetched = std::min(prefetched + kSlice, count);
    for (size_t i = end; i < prefetched; ++i) prefetch_one(i);
    use(begin, end);
    begin = end;
  }
}

// Returns this thread's array for the row numbers of a group. The array is
// reused, so that steady work allocates no memory.
inline RowIndex::Row* ThreadRows(size_t count) {
  thread_local Scratch<RowIndex::Row> rows;
  return rows.Get(count);
}

// Returns this thread's array for the decoded weights of a row.
inline float* ThreadWeights(size_t dim) {
  thread_local std::vector<float> weights;
  if (weights.size() < dim) weights.resize(dim);
  return weights.data();
}

}  // namespace persia

#endif  // PERSIA_CC_STORE_SLICES_H_
