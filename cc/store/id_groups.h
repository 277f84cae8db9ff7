// IdGroups: a batch's ids, grouped by sub-shard, so that a call locks each
// sub-shard once. An IdGroups is reused for many batches, and allocates memory
// only for a batch that is larger than all before it: see Scratch.

#ifndef PERSIA_CC_STORE_ID_GROUPS_H_
#define PERSIA_CC_STORE_ID_GROUPS_H_

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "cc/base/hash.h"
#include "cc/base/scratch.h"
#include "cc/base/span.h"

namespace persia {

inline constexpr size_t kSubShards = 64;

// The lowest kOwnerBits bits of HashId(id) choose the sub-shard of an id.
// HashId has no secret key, because every run must place ids in the same
// sub-shards: the placement affects how rows are rounded at random. A client
// can therefore choose ids that all belong to one sub-shard. A call with such
// ids takes no longer than others, and releases the lock now and then for
// waiting threads (see GroupPipeline), but two such calls do not run in
// parallel.
inline constexpr size_t kOwnerBits = 12;

// Maps each value of the kOwnerBits bits to a sub-shard. Each sub-shard owns
// 2^(1 / kSubShards) times as many values as the one before it, so the last
// owns nearly twice as many as the first. If all owned equally many, they would
// fill their indexes at the same time and grow them in the same requests.
constexpr std::array<uint8_t, 1 << kOwnerBits> MakeOwners() {
  constexpr double kRatio = 1.0108892860517005;  // 2^(1 / 64)
  static_assert(kSubShards == 64, "kRatio is its root of 2");
  std::array<uint8_t, 1 << kOwnerBits> owners{};
  double share = static_cast<double>(owners.size()) * (kRatio - 1);
  double end = share;
  size_t owner = 0;
  for (size_t value = 0; value < owners.size(); ++value) {
    while (static_cast<double>(value) >= end && owner + 1 < kSubShards) {
      share *= kRatio;
      end += share;
      ++owner;
    }
    owners[value] = static_cast<uint8_t>(owner);
  }
  return owners;
}

inline constexpr std::array<uint8_t, 1 << kOwnerBits> kOwners = MakeOwners();

inline size_t SubShardOf(int64_t id) {
  return kOwners[HashId(id) & (kOwners.size() - 1)];
}

// The fraction of all ids that belong to a sub-shard.
inline double ShareOf(size_t sub_shard) {
  const auto [begin, end] = std::equal_range(kOwners.begin(), kOwners.end(),
                                             static_cast<uint8_t>(sub_shard));
  return static_cast<double>(end - begin) / static_cast<double>(kOwners.size());
}

// The most ids of a group that a call handles before it releases the lock.
inline constexpr size_t kMostIdsALock = 4096;

// Ids of a batch that belong to one sub-shard, with their places in the batch.
struct IdGroup {
  Span<const int64_t> ids;
  Span<const uint32_t> places;
};

class IdGroups {
 public:
  // Groups the ids of a batch. Precondition: there are fewer than 2^32 ids.
  void Build(Span<const int64_t> ids) {
    const size_t count = ids.size();
    uint8_t* const owners = owners_.Get(count);
    ids_ = grouped_.Get(count);
    places_ = grouped_places_.Get(count);
    std::array<uint32_t, kSubShards> next{};
    for (size_t i = 0; i < count; ++i) {
      owners[i] = static_cast<uint8_t>(SubShardOf(ids[i]));
      ++next[owners[i]];
    }
    uint32_t total = 0;
    for (size_t s = 0; s < kSubShards; ++s) {
      begins_[s] = total;
      total += next[s];
      next[s] = begins_[s];
    }
    begins_[kSubShards] = total;
    for (size_t i = 0; i < count; ++i) {
      const uint32_t at = next[owners[i]]++;
      ids_[at] = ids[i];
      places_[at] = static_cast<uint32_t>(i);
    }
  }

  // Calls visit(number of the sub-shard, group) for all ids, in the order of
  // the sub-shards. A group has at least one id and at most kMostIdsALock.
  template <typename Visit>
  void ForEach(const Visit& visit) const {
    for (size_t s = 0; s < kSubShards; ++s) {
      for (size_t at = 0; at < size(s); at += kMostIdsALock) {
        const size_t count = std::min(kMostIdsALock, size(s) - at);
        visit(s,
              IdGroup{ids(s).subspan(at, count), places(s).subspan(at, count)});
      }
    }
  }

  // The sub-shard's ids, in the batch's order.
  Span<const int64_t> ids(size_t sub_shard) const {
    return {ids_ + begins_[sub_shard], size(sub_shard)};
  }

  // The index in the batch of each id of the sub-shard.
  Span<const uint32_t> places(size_t sub_shard) const {
    return {places_ + begins_[sub_shard], size(sub_shard)};
  }

 private:
  size_t size(size_t sub_shard) const {
    return begins_[sub_shard + 1] - begins_[sub_shard];
  }

  std::array<uint32_t, kSubShards + 1> begins_{};
  Scratch<uint8_t> owners_;
  Scratch<int64_t> grouped_;
  Scratch<uint32_t> grouped_places_;
  int64_t* ids_ = nullptr;      // Points into grouped_.
  uint32_t* places_ = nullptr;  // Points into grouped_places_.
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_ID_GROUPS_H_
