// LookupBags: the bags of one lookup, and whether the service or this process
// pools them.
//
// If the service pools, it receives the bags, duplicates included, and returns
// one vector per bag. If this process pools, the service receives the unique
// ids and returns their rows. Both compute the same sums in the same order.
//
// Immutable.

#ifndef PERSIA_CC_PIPELINE_LOOKUP_BAGS_H_
#define PERSIA_CC_PIPELINE_LOOKUP_BAGS_H_

#include <cstdint>
#include <vector>

#include "cc/base/span.h"
#include "cc/service/embedding_service.h"
#include "cc/service/pooling.h"

namespace persia {

class LookupBags {
 public:
  enum class PooledBy { kUs, kService };

  // Preconditions: those of BagShares. Holds no reference to the memory of
  // `ids`.
  LookupBags(const TableIds& ids, PooledBy pooled_by);

  LookupBags(const LookupBags&) = delete;
  LookupBags& operator=(const LookupBags&) = delete;

  PooledBy pooled_by() const { return pooled_by_; }
  // The bags that go to the service, duplicates included, if it pools. If not,
  // without ids and weights.
  const TableIds& ids() const { return ids_; }
  size_t count() const { return offsets_.size() - 1; }

  // For bags that this process pools, and for gradients that it must sum per
  // id.
  const BagShares& shares() const { return shares_; }

 private:
  const PooledBy pooled_by_;
  const std::vector<uint32_t> offsets_;
  std::vector<int64_t> own_ids_;    // Empty unless the service pools.
  std::vector<float> own_weights_;  // Empty unless the service pools.
  TableIds ids_;
  BagShares shares_;
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_LOOKUP_BAGS_H_
