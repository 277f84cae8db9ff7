// Functions that prefetch rows some time before their use.
//
// A core has a limited number of cache lines in flight. On some CPUs (AMD Zen
// 4) a prefetch beyond that number has no effect, so prefetching many rows at
// once is no faster than prefetching none. So rows are prefetched a few at a
// time, kAheadOfUse rows before they are used.

#ifndef PERSIA_CC_STORE_SLICES_H_
#define PERSIA_CC_STORE_SLICES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/base/prefetch.h"
#include "cc/base/scratch.h"
#include "cc/store/row_index.h"

namespace persia {

// How many rows are prefetched, and then used, at a time.
inline constexpr size_t kSlice = 8;
// How many rows are prefetched before the first of them is used.
inline constexpr size_t kAheadOfUse = 32;

// How much of a row is prefetched; the CPU's own prefetcher loads the rest of a
// longer row.
inline constexpr size_t kMostPrefetchBytes = 256;

inline constexpr size_t kPrefetchLine = 64;

// Prefetches the first of `bytes` bytes, at least 1. Prefetches each cache line
// once, since a prefetch takes a place among those in flight.
template <For kUse>
void PrefetchStart(const std::byte* memory, size_t bytes) {
  const auto line_of = [](const std::byte* address) {
    return reinterpret_cast<uintptr_t>(address) / kPrefetchLine;
  };
  const std::byte* const last =
      memory + std::min(bytes, kMostPrefetchBytes) - 1;
  for (uintptr_t line = line_of(memory); line <= line_of(last); ++line) {
    Prefetch<kUse>(reinterpret_cast<const std::byte*>(line * kPrefetchLine));
  }
}

// Calls prefetch_one(i) for each of the first rows of `count`.
template <typename PrefetchOne>
void PrefetchFirst(size_t count, const PrefetchOne& prefetch_one) {
  for (size_t i = 0; i < std::min(kAheadOfUse, count); ++i) prefetch_one(i);
}

// Call this after PrefetchFirst. For each slice of the rows, it first calls
// prefetch_one(i) for as many of the next rows that are not prefetched yet, and
// then use(begin, end) for the slice itself.
template <typename PrefetchOne, typename Use>
void InSlices(size_t count, const PrefetchOne& prefetch_one, const Use& use) {
  size_t prefetched = std::min(kAheadOfUse, count);
  for (size_t begin = 0; begin < count; begin += kSlice) {
    const size_t until = std::min(prefetched + kSlice, count);
    for (; prefetched < until; ++prefetched) prefetch_one(prefetched);
    use(begin, std::min(begin + kSlice, count));
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
