#include "cc/store/group_pipeline.h"

#include <vector>

#include "cc/base/scratch.h"

namespace persia {

GroupPipeline::GroupPipeline(const IdGroups& groups,
                             const SubShards& sub_shards) {
  // Reused, so that steady work allocates no memory.
  thread_local std::vector<Part> parts;
  thread_local Scratch<std::byte*> rows;
  parts.clear();
  size_t ids = 0;
  groups.ForEach([&](size_t sub_shard, const IdGroup& group) {
    parts.push_back({sub_shards[sub_shard].get(), group, nullptr});
    ids += group.ids.size();
  });
  parts_ = parts.data();
  count_ = parts.size();
  rows_ = rows.Get(ids);
}

GroupPipeline::~GroupPipeline() {
  for (; finished_ < locked_; ++finished_)
    parts_[finished_].sub_shard->Unlock();
}

void GroupPipeline::LockNext() {
  PrefetchSelf(locked_ + kAheadOfLock);
  const Part& part = parts_[locked_];
  part.sub_shard->Lock();
  ++locked_;
  part.sub_shard->PrefetchIndex(part.group.ids);
  ids_to_start_ += part.group.ids.size();
}

}  // namespace persia
