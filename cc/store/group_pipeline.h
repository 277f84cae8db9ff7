// GroupPipeline: runs the steps of a lookup or an update for the groups of a
// batch, each of which needs its sub-shard's lock.
//
// Each step prefetches what the next one needs. So a group's steps run apart
// from each other, with steps of later groups in between: each step is some ids
// ahead of the next one. In a small batch a group has only a few ids, and each
// would otherwise cost about five cache misses in sequence: for the sub-shard,
// its directory, its segments, a bucket and a row.
//
// A call locks a sub-shard shortly before the steps of its group, and unlocks
// it right after them, so a call holds few locks at a time. It locks sub-shards
// in ascending order, so threads do not deadlock. A group of more than
// kMostIdsALock ids becomes several parts, so that other threads do not wait
// long for its lock.

#ifndef PERSIA_CC_STORE_GROUP_PIPELINE_H_
#define PERSIA_CC_STORE_GROUP_PIPELINE_H_

#include <algorithm>
#include <cstddef>

#include "cc/store/id_groups.h"
#include "cc/store/sub_shard.h"

namespace persia {

class GroupPipeline {
 public:
  // A group, or some of the ids of a large group.
  struct Part {
    SubShard* sub_shard;
    IdGroup group;
    std::byte** rows;  // One row pointer for each id, from `start` to `finish`.
  };

  GroupPipeline(const IdGroups& groups, const SubShards& sub_shards);
  // Unlocks what is locked, in case a step has thrown.
  ~GroupPipeline();
  GroupPipeline(const GroupPipeline&) = delete;
  GroupPipeline& operator=(const GroupPipeline&) = delete;

  // Calls start(part) and then finish(part) for each part, in the order of the
  // sub-shards. Both run under the lock of the part's sub-shard. Must be called
  // once. Passes on what they throw.
  template <typename Start, typename Finish>
  void Run(const Start& start, const Finish& finish);

 private:
  // How many ids a step is ahead of the next one, at least: about as many as a
  // core can have cache lines in flight.
  static constexpr size_t kAhead = 32;
  // How many sub-shards are prefetched before the first of them is locked.
  static constexpr size_t kAheadOfLock = 8;

  void PrefetchSelf(size_t part) const {
    if (part < count_) parts_[part].sub_shard->PrefetchSelf();
  }
  // Whether the next part can be locked. A thread must not lock a sub-shard
  // twice, so the parts of one sub-shard run one after the other.
  bool MayLock() const {
    return locked_ < count_ &&
           (locked_ == finished_ ||
            parts_[locked_].sub_shard != parts_[locked_ - 1].sub_shard);
  }
  void LockNext();

  Part* parts_ = nullptr;  // This thread's, reused by its next pipeline.
  std::byte** rows_ = nullptr;
  size_t rows_used_ = 0;
  size_t count_ = 0;
  // The number of parts that have been locked, started, and finished.
  size_t locked_ = 0;
  size_t started_ = 0;
  size_t finished_ = 0;
  size_t ids_to_start_ = 0;   // Of parts that are locked but not started.
  size_t ids_to_finish_ = 0;  // Of parts that are started but not finished.
};

template <typename Start, typename Finish>
void GroupPipeline::Run(const Start& start, const Finish& finish) {
  for (size_t p = 0; p < kAheadOfLock; ++p) PrefetchSelf(p);
  while (finished_ < count_) {
    while (started_ < count_ && ids_to_finish_ < kAhead) {
      while (MayLock() && ids_to_start_ < kAhead) LockNext();
      if (started_ == locked_) break;
      Part* const part = &parts_[started_];
      const size_t ids = part->group.ids.size();
      if (started_ == finished_) rows_used_ = 0;
      part->rows = rows_ + rows_used_;
      rows_used_ += ids;
      ids_to_start_ -= ids;
      ids_to_finish_ += ids;
      start(*part);
      ++started_;
    }
    const Part& part = parts_[finished_];
    finish(part);
    ids_to_finish_ -= part.group.ids.size();
    part.sub_shard->Unlock();
    ++finished_;
  }
}

}  // namespace persia

#endif  // PERSIA_CC_STORE_GROUP_PIPELINE_H_
