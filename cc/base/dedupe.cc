#include "cc/base/dedupe.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "cc/base/hash.h"
#include "cc/base/prefetch.h"
#include "cc/base/scratch.h"

namespace persia {
namespace {

// Enough to hide a miss of the second-level cache behind the work of as many
// ids.
constexpr size_t kAhead = 16;

// An open-addressing table of places in `ids`, which are numbered from 1. Small
// enough to stay in a core's cache: a slot has a place and as many bits of the
// id's hash, lest ids that cannot be it are looked at.
class Index {
 public:
  // Empties the table, for `count` ids.
  void Reset(size_t count) {
    // Few batches have no duplicates, and what is not emptied is not touched.
    size_t capacity = 256;
    while (capacity < count + count / 5) capacity *= 2;
    slots_ = memory_.Get(capacity);
    std::fill_n(slots_, capacity, 0);
    mask_ = capacity - 1;
  }

  void Ask(uint64_t hash) const {
    Prefetch<For::kWrite>(&slots_[hash & mask_]);
  }

  // The place of `id`, which is `next` if it is new: then it is written there.
  // Writes to ids[next] in any case, for want of a branch: which ids are new
  // cannot be predicted.
  uint32_t FindOrAdd(int64_t id, uint64_t hash, uint32_t next, int64_t* ids) {
    ids[next] = id;
    for (size_t at = hash & mask_;; at = (at + 1) & mask_) {
      const uint64_t added = (hash & kHashBits) | next;
      uint64_t slot = slots_[at];
      slot = slot == 0 ? added : slot;
      const auto place = static_cast<uint32_t>(slot);
      if (((slot ^ hash) & kHashBits) != 0 || ids[place] != id) continue;
      slots_[at] = slot;
      return place;
    }
  }

 private:
  static constexpr uint64_t kHashBits = ~uint64_t{0} << 32;

  Scratch<uint64_t> memory_;
  uint64_t* slots_ = nullptr;  // In memory_; 0: free.
  size_t mask_ = 0;
};

struct ThreadMemory {
  Index index;
  Scratch<int64_t> ids;  // From place 1 on.
  Scratch<uint32_t> shards;
  Scratch<uint32_t> moved_to;
};

ThreadMemory& OfThread() {
  thread_local ThreadMemory memory;
  return memory;
}

// Keeps the order within a shard.
void GroupByShard(uint32_t shard_count, UniqueIds* unique) {
  const size_t count = unique->ids.size();
  uint32_t* const shards = OfThread().shards.Get(count);
  uint32_t* const moved_to = OfThread().moved_to.Get(count);
  std::vector<uint32_t> next(shard_count + size_t{1}, 0);
  for (size_t i = 0; i < count; ++i) {
    shards[i] = ShardOf(unique->ids[i], shard_count);
    ++next[shards[i] + 1];
  }
  for (uint32_t s = 1; s < shard_count; ++s) next[s] += next[s - 1];
  std::vector<int64_t> grouped(count);
  for (size_t i = 0; i < count; ++i) {
    const uint32_t place = next[shards[i]]++;
    grouped[place] = unique->ids[i];
    moved_to[i] = place;
  }
  for (uint32_t& place : unique->inverse) place = moved_to[place];
  unique->ids = std::move(grouped);
}

}  // namespace

UniqueIds Dedupe(Span<const int64_t> batch) {
  ThreadMemory& memory = OfThread();
  const size_t count = batch.size();
  Index& index = memory.index;
  index.Reset(count);
  int64_t* const ids = memory.ids.Get(count + 2);

  UniqueIds unique;
  unique.inverse.resize(count);
  uint64_t hashes[kAhead];
  const auto ask = [&](size_t i) {
    hashes[i % kAhead] = HashId(batch[i]);
    index.Ask(hashes[i % kAhead]);
  };
  for (size_t i = 0; i < std::min(kAhead, count); ++i) ask(i);
  uint32_t next = 1;
  for (size_t i = 0; i < count; ++i) {
    const uint64_t hash = hashes[i % kAhead];
    if (i + kAhead < count) ask(i + kAhead);
    const uint32_t place = index.FindOrAdd(batch[i], hash, next, ids);
    next += place == next;
    unique.inverse[i] = place - 1;
  }
  unique.ids.assign(ids + 1, ids + next);
  return unique;
}

UniqueIds Dedupe(Span<const int64_t> batch, uint32_t shard_count) {
  UniqueIds unique = Dedupe(batch);
  if (shard_count > 1 && unique.had_duplicates()) {
    GroupByShard(shard_count, &unique);
  }
  return unique;
}

void ExpandRows(Span<const uint32_t> inverse, Span<const float> rows,
                size_t dim, Span<float> out) {
  float* to = out.data();
  for (const uint32_t row : inverse) {
    std::memcpy(to, rows.data() + row * dim, dim * sizeof(float));
    to += dim;
  }
}

void AddGradients(Span<const uint32_t> inverse, Span<const float> gradients,
                  size_t dim, Span<float> sums) {
  const float* gradient = gradients.data();
  for (const uint32_t row : inverse) {
    float* sum = sums.data() + row * dim;
    for (size_t d = 0; d < dim; ++d) sum[d] += gradient[d];
    gradient += dim;
  }
}

}  // namespace persia
