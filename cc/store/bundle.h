// Bundle: groups of a batch that a call works on at once, under all their
// locks.
//
// A group of many ids overlaps its own waits for memory, and is a bundle by
// itself; or several, lest others wait for its lock for long. Of a batch of few
// ids, a sub-shard has one or two, and each would wait some five times: for the
// sub-shard, its directory, its segments, a bucket and a row. So small groups
// go together.

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
    std::byte** rows;  // Room for as many as the group has ids.
  };

  // Where a batch's next bundle begins.
  struct Next {
    size_t sub_shard = 0;
    size_t id = 0;  // Of its group.

    bool at_end() const { return sub_shard == kSubShards; }
  };

  // The groups from `*next` on that make a bundle, or kMostIdsALock of one
  // group; sets it to what comes after them. Locks their sub-shards, in their
  // order, as all bundles do, and asks for their indexes.
  Bundle(const IdGroups& groups, const SubShards& sub_shards, Next* next);
  ~Bundle();
  Bundle(const Bundle&) = delete;
  Bundle& operator=(const Bundle&) = delete;

  const Part* begin() const { return parts_.data(); }
  const Part* end() const { return parts_.data() + count_; }

 private:
  // Of several groups. About what a core can ask for from memory at once.
  static constexpr size_t kMostIds = 32;

  void Take(const IdGroups& groups, const SubShards& sub_shards, Next* next);

  std::array<Part, kMostIds> parts_;
  size_t count_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_BUNDLE_H_
