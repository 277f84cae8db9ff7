// SpilledIds: the ids for which an index had no room near their home buckets,
// with their rows, ordered by hash.
//
// The ids are in a tree, so that no operation takes more than logarithmic time,
// however the ids were chosen. Almost no id spills by chance: if many ids have
// spilled, their hashes cluster, and an attacker may have chosen them.
//
// Not thread-safe.

#ifndef PERSIA_CC_STORE_SPILLED_IDS_H_
#define PERSIA_CC_STORE_SPILLED_IDS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>

#include "cc/base/memory_meter.h"

namespace persia {

class SpilledIds {
 public:
  using Row = uint32_t;

  // Counts the object's memory at `meter`, even beyond the meter's limit.
  // `meter` may be null.
  explicit SpilledIds(MemoryMeter* meter)
      : metered_(meter, MeteredBytes::AtLimit::kGrow) {}
  SpilledIds(SpilledIds&&) = default;

  // Returns a pointer to the row of `id`, or null if `id` is not here.
  Row* Find(uint64_t hash, int64_t id) {
    const auto found = rows_.find({hash, id});
    return found == rows_.end() ? nullptr : &found->second;
  }
  const Row* Find(uint64_t hash, int64_t id) const {
    return const_cast<SpilledIds*>(this)->Find(hash, id);
  }

  // Adds `id`, which must be absent. If Add throws std::bad_alloc, nothing has
  // changed.
  void Add(uint64_t hash, int64_t id, Row row) {
    metered_.Grow(kNodeBytes, [&] { rows_.emplace(Key{hash, id}, row); });
  }

  // Precondition: the id is present.
  void Erase(uint64_t hash, int64_t id) {
    rows_.erase({hash, id});
    metered_.Shrink(kNodeBytes);
  }

  // Visits the ids with hashes from `first` to `last`. `visit` has the
  // signature void(uint64_t hash, int64_t id, Row row).
  template <typename Visit>
  void ForEach(uint64_t first, uint64_t last, const Visit& visit) const {
    const auto end = rows_.upper_bound({last, INT64_MAX});
    for (auto at = rows_.lower_bound({first, INT64_MIN}); at != end; ++at) {
      visit(at->first.first, at->first.second, at->second);
    }
  }

  // Removes the ids with hashes from `first` to `last`, and moves all ids of
  // `others` here.
  void Replace(uint64_t first, uint64_t last, SpilledIds* others) {
    const size_t before = rows_.size();
    rows_.erase(rows_.lower_bound({first, INT64_MIN}),
                rows_.upper_bound({last, INT64_MAX}));
    metered_.Shrink((before - rows_.size()) * kNodeBytes);
    metered_.Grow(others->bytes(), [&] { rows_.merge(others->rows_); });
    others->metered_ = MeteredBytes(nullptr);
  }

  bool empty() const { return rows_.empty(); }
  size_t size() const { return rows_.size(); }
  size_t bytes() const { return rows_.size() * kNodeBytes; }

 private:
  using Key = std::pair<uint64_t, int64_t>;

  // The memory of a tree node, rounded up as an allocator does.
  static constexpr size_t kNodeBytes = 80;

  MeteredBytes metered_;
  std::map<Key, Row> rows_;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_SPILLED_IDS_H_
