#include "cc/base/dedupe_index.h"

#include <algorithm>

#include "cc/base/prefetch.h"

namespace persia {
namespace {

// The hash table's slot of an id is prefetched this many ids before its lookup,
// which is enough to hide an L2 cache miss.
constexpr size_t kAhead = 16;

constexpr uint64_t kHashBits = ~uint64_t{0} << 32;

// DedupeIndex::Number gives up on a batch when it has probed more than
// kMostAwayAnId extra slots per id, plus kMostAwayInAnyCase. With random hashes
// and a table at its highest load, an id takes about 2.5 extra slots on
// average.
constexpr size_t kMostAwayAnId = 32;
constexpr size_t kMostAwayInAnyCase = 4096;

}  // namespace

DedupeIndex::Slots DedupeIndex::Empty(size_t count) {
  // The table has at least 1.2 slots per id of the batch. A larger table would
  // rarely help: most batches have duplicates, which lower its load, and a
  // small table has fewer slots to clear and to load into the cache.
  size_t capacity = 256;
  while (capacity < count + count / 5) capacity *= 2;
  uint64_t* const slots = memory_.Get(capacity);
  std::fill_n(slots, capacity, 0);
  return {hash_, slots, capacity - 1};
}

// Returns the place of `id`: its index in `ids`. A new id gets the place
// `next`. ids[next] is overwritten even if the id is not new, because a branch
// on whether the id is new would often be mispredicted.
inline uint32_t DedupeIndex::Slots::FindOrAdd(int64_t id, uint64_t hash_of_id,
                                              uint32_t next, int64_t* ids,
                                              size_t* away) const {
  ids[next] = id;
  const uint64_t added = (hash_of_id & kHashBits) | next;
  for (size_t at = hash_of_id & mask;; at = (at + 1) & mask, ++*away) {
    uint64_t slot = slots[at];
    slot = slot == 0 ? added : slot;
    const auto place = static_cast<uint32_t>(slot);
    if (((slot ^ added) & kHashBits) != 0 || ids[place] != id) continue;
    slots[at] = slot;
    return place;
  }
}

size_t DedupeIndex::Number(Span<const int64_t> batch, int64_t* ids,
                           uint32_t* inverse) {
  const size_t count = batch.size();
  const Slots slots = Empty(count);
  uint64_t hashes[kAhead];
  const auto prefetch = [&](size_t i) {
    const uint64_t hash = slots.hash(static_cast<uint64_t>(batch[i]));
    Prefetch<For::kWrite>(&slots.slots[hash & slots.mask]);
    hashes[i % kAhead] = hash;
  };
  for (size_t i = 0; i < std::min(kAhead, count); ++i) prefetch(i);
  const size_t most_away = kMostAwayAnId * count + kMostAwayInAnyCase;
  size_t away = 0;
  uint32_t next = 1;
  for (size_t i = 0; i < count && away <= most_away; ++i) {
    const uint64_t hash = hashes[i % kAhead];
    if (i + kAhead < count) prefetch(i + kAhead);
    const uint32_t place = slots.FindOrAdd(batch[i], hash, next, ids, &away);
    next += place == next;
    inverse[i] = place - 1;
  }
  away_ = away;
  return away <= most_away ? next - 1 : kSlow;
}

}  // namespace persia
