#include "cc/store/bundle.h"

#include "cc/base/scratch.h"

namespace persia {
namespace {

// Returns this thread's array for `count` row pointers. The array is reused, so
// that steady work allocates no memory.
std::byte** ThreadRowPointers(size_t count) {
  thread_local Scratch<std::byte*> rows;
  return rows.Get(count);
}

}  // namespace

Bundle::Bundle(const IdGroups& groups, const SubShards& sub_shards,
               Next* next) {
  Take(groups, sub_shards, next);
  for (const Part& part : *this) part.sub_shard->PrefetchSelf();
  for (const Part& part : *this) part.sub_shard->Lock();
  for (const Part& part : *this) part.sub_shard->PrefetchIndex(part.group.ids);
}

Bundle::~Bundle() {
  for (const Part& part : *this) part.sub_shard->Unlock();
}

void Bundle::Take(const IdGroups& groups, const SubShards& sub_shards,
                  Next* next) {
  size_t ids = 0;
  for (; !next->at_end(); ++next->sub_shard, next->id = 0) {
    const size_t s = next->sub_shard;
    const IdGroup group{groups.ids(s).subspan(next->id),
                        groups.places(s).subspan(next->id)};
    if (group.ids.empty()) continue;
    if (count_ > 0 && ids + group.ids.size() > kMostIds) break;
    SubShard* const sub_shard = sub_shards[s].get();
    if (group.ids.size() > kMostIdsALock) {
      ids = kMostIdsALock;
      parts_[count_++] = {
          sub_shard, {group.ids.first(ids), group.places.first(ids)}, nullptr};
      next->id += ids;
      break;
    }
    parts_[count_++] = {sub_shard, group, nullptr};
    ids += group.ids.size();
  }
  std::byte** rows = ThreadRowPointers(ids);
  for (size_t p = 0; p < count_; ++p) {
    parts_[p].rows = rows;
    rows += parts_[p].group.ids.size();
  }
}

}  // namespace persia
