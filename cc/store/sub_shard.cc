#include "cc/store/sub_shard.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "cc/store/finite.h"

namespace persia {
namespace {

// Pointers to a group's rows, found in a pass of their own so that each row's
// memory is on its way before it is used.
std::vector<float*>& ThreadRowPointers(size_t count) {
  thread_local std::vector<float*> pointers;
  pointers.resize(count);
  return pointers;
}

}  // namespace

float* SubShard::Find(int64_t id) const {
  const auto found = index_.find(id);
  return found == index_.end() ? nullptr : slab_.row(found->second);
}

float* SubShard::FindOrCreate(int64_t id) {
  if (float* row = Find(id)) return row;
  // The index comes last: whatever throws, it names whole rows only.
  float* row = slab_.Reserve();
  rules_.initializer->Fill(rules_.table_seed, id, row, rules_.dim);
  rules_.optimizer->InitState(row + rules_.dim, rules_.dim);
  index_.emplace(id, slab_.size());
  slab_.Commit();
  return row;
}

void SubShard::Lookup(Span<const uint32_t> places, const int64_t* ids,
                      bool read_only, float* rows) {
  std::vector<float*>& found = ThreadRowPointers(places.size());
  const size_t dim = rules_.dim;
  std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < places.size(); ++i) {
    const int64_t id = ids[places[i]];
    found[i] = read_only ? Find(id) : FindOrCreate(id);
    __builtin_prefetch(found[i]);
  }
  for (size_t i = 0; i < places.size(); ++i) {
    float* out = rows + places[i] * dim;
    if (found[i] != nullptr) {
      std::memcpy(out, found[i], dim * sizeof(float));
    } else {
      std::fill_n(out, dim, rules_.default_value);
    }
  }
}

void SubShard::Update(Span<const uint32_t> places, const int64_t* ids,
                      const float* gradients, float learning_rate,
                      UpdateCounts* counts) {
  std::vector<float*>& found = ThreadRowPointers(places.size());
  const size_t dim = rules_.dim;
  std::lock_guard<std::mutex> lock(mutex_);
  for (size_t i = 0; i < places.size(); ++i) {
    found[i] = Find(ids[places[i]]);
    __builtin_prefetch(found[i], 1);
  }
  for (size_t i = 0; i < places.size(); ++i) {
    const float* gradient = gradients + places[i] * dim;
    if (!AllFinite(gradient, dim)) {
      ++counts->nonfinite;
    } else if (found[i] == nullptr) {
      ++counts->absent;
    } else {
      rules_.optimizer->Update(&found[i], gradient, 1, dim, learning_rate);
      ++counts->applied;
    }
  }
}

void SubShard::AddStats(TableStats* stats) const {
  // Boost keeps a 16-byte word of metadata for every 15 slots.
  constexpr size_t kGroupSlots = 15, kGroupBytes = 16;
  using Slot = decltype(index_)::value_type;
  std::lock_guard<std::mutex> lock(mutex_);
  const size_t slots = index_.bucket_count();
  stats->rows += index_.size();
  stats->bytes += slab_.bytes() + slots * sizeof(Slot) +
                  (slots + kGroupSlots - 1) / kGroupSlots * kGroupBytes;
}

}  // namespace persia
