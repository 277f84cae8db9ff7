// IdGroups: a batch's places, grouped by the sub-shard of their id, so that a
// call takes each sub-shard's lock once. Reused from batch to batch, it
// allocates only for a batch larger than all before.

#ifndef PERSIA_CC_STORE_ID_GROUPS_H_
#define PERSIA_CC_STORE_ID_GROUPS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/base/hash.h"
#include "cc/base/span.h"

namespace persia {

inline constexpr size_t kSubShards = 64;

// Neither the top nor the lowest bits of the hash, which choose the slot inside
// a sub-shard's index: sharing them would leave most slots unused.
inline size_t SubShardOf(int64_t id) {
  return (HashId(id) >> 8) & (kSubShards - 1);
}

class IdGroups {
 public:
  // Precondition: fewer than 2^32 ids.
  void Build(Span<const int64_t> ids) {
    std::array<uint32_t, kSubShards> next{};
    for (const int64_t id : ids) ++next[SubShardOf(id)];
    uint32_t total = 0;
    for (size_t s = 0; s < kSubShards; ++s) {
      begins_[s] = total;
      total += next[s];
      next[s] = begins_[s];
    }
    begins_[kSubShards] = total;
    places_.resize(total);
    for (uint32_t i = 0; i < total; ++i) {
      places_[next[SubShardOf(ids[i])]++] = i;
    }
  }

  // Places in the batch of the sub-shard's ids, in the batch's order.
  Span<const uint32_t> group(size_t sub_shard) const {
    const uint32_t begin = begins_[sub_shard];
    return {places_.data() + begin, begins_[sub_shard + 1] - begin};
  }

 private:
  std::array<uint32_t, kSubShards + 1> begins_{};
  std::vector<uint32_t> places_;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_ID_GROUPS_H_
