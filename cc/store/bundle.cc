#include "cc/store/bundle.h"

#include "cc/base/scratch.h"

namespace persia {
namespace {

// Kept by each thread, so that steady work allocates nothing.
std::byte** ThreadRows(size_t count) {
  thread_local Scratch<std::byte*> rows;
  return rows.Get(count);
}

}  // namespace

Bundle::Bundle(const IdGroups& groups, const SubShards& sub_shards,
               size_t* next) {
  Take(groups, sub_shards, next);
  for (const Part& part : *this) part.sub_shard->Ask();
  for (const Part& part : *this) part.sub_shard->Lock();
  for (const Part& part : *this) part.sub_shard->AskForIndex(part.group.ids);
}

Bundle::~Bundle() {
  for (const Part& part : *this) part.sub_shard->Unlock();
}

void Bundle::Take(const IdGroups& groups, const SubShards& sub_shards,
                  size_t* next) {
  size_t ids = 0;
  for (; *next < kSubShards; ++*next) {
    const IdGroup group{groups.ids(*next), groups.places(*next)};
    if (group.ids.empty()) continue;
    if (count_ > 0 && ids + group.ids.size() > kMostIds) break;
    parts_[count_++] = {sub_shards[*next].get(), group, nullptr};
    ids += group.ids.size();
  }
  std::byte** rows = ThreadRows(ids);
  for (size_t p = 0; p < count_; ++p) {
    parts_[p].rows = rows;
    rows += parts_[p].group.ids.size();
  }
}

}  // namespace persia
