// SubShard: a table's rows whose ids share a sub-shard, under one lock.
//
// A call works on a group: places in a batch's ids, rows and gradients.
// Thread-safe. Calls throw std::bad_alloc when memory runs out; what they did
// by then stays, every row whole.

#ifndef PERSIA_CC_STORE_SUB_SHARD_H_
#define PERSIA_CC_STORE_SUB_SHARD_H_

#include <boost/unordered/unordered_flat_map.hpp>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "cc/base/hash.h"
#include "cc/base/span.h"
#include "cc/optimizer/optimizer.h"
#include "cc/store/initializer.h"
#include "cc/store/row_slab.h"
#include "cc/store/table.h"

namespace persia {

// What all rows of a table have in common. Immutable.
struct RowRules {
  size_t dim;
  size_t row_floats;  // Weights and optimizer state.
  uint64_t table_seed;
  float default_value;
  const Initializer* initializer;
  const Optimizer* optimizer;
};

class SubShard {
 public:
  // `rules` must outlive the sub-shard.
  explicit SubShard(const RowRules* rules)
      : rules_(*rules), slab_(rules->row_floats) {}

  // See Table::Lookup.
  void Lookup(Span<const uint32_t> places, const int64_t* ids, bool read_only,
              float* rows);

  // See Table::Update. Adds to `counts`.
  void Update(Span<const uint32_t> places, const int64_t* ids,
              const float* gradients, float learning_rate,
              UpdateCounts* counts);

  // Adds its part to stats->rows and stats->bytes.
  void AddStats(TableStats* stats) const;

 private:
  struct IdHash {
    using is_avalanching = void;  // Boost need not mix again.
    size_t operator()(int64_t id) const { return HashId(id); }
  };

  // These expect mutex_ to be held.
  float* Find(int64_t id) const;  // Null if the row is absent.
  float* FindOrCreate(int64_t id);

  const RowRules& rules_;
  mutable std::mutex mutex_;
  // The row of each id in slab_. Both guarded by mutex_.
  boost::unordered_flat_map<int64_t, uint32_t, IdHash> index_;
  RowSlab slab_;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_SUB_SHARD_H_
