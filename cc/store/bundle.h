// Bundle: the groups of a batch that a call handles together, holding all their
// locks.
//
// A large group overlaps its own cache misses. It is a bundle by itself, or
// several, so that other threads do not wait long for its lock. In a small
// batch, however, a sub-shard has only one or two ids, and each would cost
// about five cache misses in sequence: for the sub-shard, its directory, its
// segments, a bucket and a row. So small groups share a bundle.

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
    std::byte** rows;  // One for each id of the group.
  };

  // Where the next bundle of a batch begins.
  struct Next {
    size_t sub_shard = 0;
    size_t id = 0;  // Index within the sub-shard's group.

    bool at_end() const { return sub_shard == kSubShards; }
  };

  // Takes the groups from `*next` on that fit in a bundle, or kMostIdsALock ids
  // of one group, and moves `*next` past them. Locks their sub-shards, in
  // ascending order as every bundle does, and prefetches their indexes.
  Bundle(const IdGroups& groups, const SubShards& sub_shards, Next* next);
  ~Bundle();
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  const Part* begin() const { return parts_.data(); }
  const Part* end() const { return parts_.data() + count_; }

 private:
  // Limit for a bundle of several groups: about as many loads as a core can
  // have in flight at once.
  static constexpr size_t kMostIds = 32;

  void Take(const IdGroups& groups, const SubShards& sub_shards, Next* next);

  std::array<Part, kMostIds> parts_;
  size_t count_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_BUNDLE_H_
