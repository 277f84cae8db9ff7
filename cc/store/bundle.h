// Bundle: groups of a batch's ids, one group per sub-shard, that a call handles
// together while it holds the locks of all these sub-shards.
//
// A call overlaps the cache misses of the ids in a bundle. A large group has
// enough ids for that: it is a bundle by itself, or several bundles, so that
// other threads do not wait long for its lock. In a small batch, however, a
// group has only one or two ids, and each would cost about five cache misses in
// sequence: for the sub-shard, its directory, its segments, a bucket and a row.
// So small groups share a bundle.

#ifndef PERSIA_CC_STORE_BUNDLE_H_
#define PERSIA_CC_STORE_BUNDLE_H_

#include <array>
#include <cstddef>

#include "cc/store/id_groups.h"
#include "cc/store/sub_shard.h"

namespace persia {

class Bundle {
 public:
  struct Part {
    SubShard* sub_shard;
    IdGroup group;
    std::byte** rows;  // One row pointer for each id of the group.
  };

  // Where the next bundle of a batch begins.
  struct Next {
    size_t sub_shard = 0;
    size_t id = 0;  // Index within the sub-shard's group.

    bool at_end() const { return sub_shard == kSubShards; }
  };

  // Takes groups from `*next` on, as many as fit, and moves `*next` past what
  // it took. If the first group has more than kMostIdsALock ids, takes only
  // kMostIdsALock of them. The constructor locks the groups' sub-shards, always
  // in ascending order so that threads do not deadlock, and prefetches their
  // indexes.
  Bundle(const IdGroups& groups, const SubShards& sub_shards, Next* next);
  ~Bundle();
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  const Part* begin() const { return parts_.data(); }
  const Part* end() const { return parts_.data() + count_; }

 private:
  // The most ids in a bundle of several groups: about as many loads as a core
  // can have in flight at once.
  static constexpr size_t kMostIds = 32;

  void Take(const IdGroups& groups, const SubShards& sub_shards, Next* next);

  std::array<Part, kMostIds> parts_;
  size_t count_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_BUNDLE_H_
