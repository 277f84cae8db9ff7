#include "cc/base/dedupe.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "cc/base/dedupe_index.h"
#include "cc/base/prefetch.h"
#include "cc/base/scratch.h"

namespace persia {
namespace {

struct ThreadMemory {
  DedupeIndex index;
  // ids[0] is unused, because DedupeIndex numbers ids from 1.
  Scratch<int64_t> ids;
  Scratch<uint32_t> shards;
  Scratch<uint32_t> moved_to;
};

// How many vectors ahead ExpandRows and AddGradients prefetch. The CPU itself
// does not foresee which row is next, nor vectors that are far from each other.
constexpr size_t kVectorsAhead = 16;

// A constant size, so that a compiler unrolls the loops below.
constexpr size_t kBlock = 16;

void CopyFloats(const float* from, size_t count, float* to) {
  for (; count >= kBlock; count -= kBlock, from += kBlock, to += kBlock) {
    std::memcpy(to, from, kBlock * sizeof(float));
  }
  if (count != 0) std::memcpy(to, from, count * sizeof(float));
}

void AddFloats(const float* __restrict from, size_t count,
               float* __restrict to) {
  for (; count >= kBlock; count -= kBlock, from += kBlock, to += kBlock) {
    for (size_t d = 0; d < kBlock; ++d) to[d] += from[d];
  }
  for (size_t d = 0; d < count; ++d) to[d] += from[d];
}

ThreadMemory& OfThread() {
  thread_local ThreadMemory memory;
  return memory;
}

// Reorders the unique ids so that the ids of each shard are contiguous. The
// order of ids within a shard does not change.
void GroupByShard(const SlotOwners& owners, UniqueIds* unique) {
  const uint32_t shard_count = owners.shards();
  const size_t count = unique->ids.size();
  uint32_t* const shards = OfThread().shards.Get(count);
  uint32_t* const moved_to = OfThread().moved_to.Get(count);
  std::vector<uint32_t> next(shard_count + size_t{1}, 0);
  for (size_t i = 0; i < count; ++i) {
    shards[i] = owners.OwnerOf(unique->ids[i]);
    ++next[shards[i] + 1];
  }
  for (uint32_t s = 0; s < shard_count; ++s) next[s + 1] += next[s];
  unique->shard_starts = next;
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
  return Dedupe(batch, &OfThread().index);
}

UniqueIds Dedupe(Span<const int64_t> batch, DedupeIndex* index) {
  int64_t* const ids = OfThread().ids.Get(batch.size() + 2);
  UniqueIds unique;
  unique.inverse.resize(batch.size());
  const size_t distinct = index->Number(batch, ids, unique.inverse.data());
  if (distinct == DedupeIndex::kSlow) {
    // A client may have chosen ids that collide under the present key, so later
    // batches use another key.
    index->ChangeHash();
    return DedupeBySorting(batch);
  }
  unique.ids.assign(ids + 1, ids + 1 + distinct);
  return unique;
}

UniqueIds DedupeBySorting(Span<const int64_t> batch) {
  UniqueIds unique;
  unique.inverse.resize(batch.size());
  std::vector<uint32_t> places(batch.size());
  std::iota(places.begin(), places.end(), 0);
  std::sort(places.begin(), places.end(), [&](uint32_t a, uint32_t b) {
    return batch[a] != batch[b] ? batch[a] < batch[b] : a < b;
  });
  // This loop sets inverse[i] to the position in the batch where the i-th id
  // first appears. The next loop replaces this position by the id's index in
  // unique.ids.
  for (size_t i = 0; i < places.size(); ++i) {
    const bool is_first = i == 0 || batch[places[i]] != batch[places[i - 1]];
    unique.inverse[places[i]] =
        is_first ? places[i] : unique.inverse[places[i - 1]];
  }
  for (uint32_t i = 0; i < batch.size(); ++i) {
    uint32_t& inverse = unique.inverse[i];
    if (inverse != i) {
      inverse = unique.inverse[inverse];
    } else {
      inverse = static_cast<uint32_t>(unique.ids.size());
      unique.ids.push_back(batch[i]);
    }
  }
  return unique;
}

UniqueIds Dedupe(Span<const int64_t> batch, const SlotOwners* owners) {
  UniqueIds unique = Dedupe(batch);
  if (owners != nullptr && owners->shards() > 1 && unique.had_duplicates()) {
    GroupByShard(*owners, &unique);
    unique.starts_of = owners->fingerprint();
  }
  return unique;
}

void ExpandRows(Span<const uint32_t> inverse, Span<const float> rows,
                size_t dim, StridedSpan<float> out) {
  for (size_t i = 0; i < inverse.size(); ++i) {
    if (i + kVectorsAhead < inverse.size()) {
      Prefetch(rows.data() + inverse[i + kVectorsAhead] * dim);
      Prefetch<For::kWrite>(out.At(i + kVectorsAhead, dim));
    }
    CopyFloats(rows.data() + inverse[i] * dim, dim, out.At(i, dim));
  }
}

void AddGradients(Span<const uint32_t> inverse,
                  StridedSpan<const float> gradients, size_t dim,
                  Span<float> sums) {
  for (size_t i = 0; i < inverse.size(); ++i) {
    if (i + kVectorsAhead < inverse.size()) {
      Prefetch(gradients.At(i + kVectorsAhead, dim));
      Prefetch<For::kWrite>(sums.data() + inverse[i + kVectorsAhead] * dim);
    }
    AddFloats(gradients.At(i, dim), dim, sums.data() + inverse[i] * dim);
  }
}

}  // namespace persia
