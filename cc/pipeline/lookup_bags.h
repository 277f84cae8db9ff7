// LookupBags: the bags of one lookup, and whether the service or this process
// pools them.
//
// If the service pools, it receives the bags, duplicates included, and returns
// one vector per bag. If this process pools, the service receives the unique
// ids and returns their rows. In both cases the sums are the same, computed in
// the same order.
//
// A LookupBags is immutable.

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

  // The preconditions of BagShares apply to `ids`. The object holds no
  // reference to the memory of `ids`.
  LookupBags(const TableIds& ids, PooledBy pooled_by);

  LookupBags(const LookupBags&) = delete;
  LookupBags& operator=(const LookupBags&) = delete;

  PooledBy pooled_by() const { return pooled_by_; }
  // If the service pools, the bags that are sent to it, duplicates included.
  // Otherwise, the bags without their ids and weights.
  const TableIds& ids() const { return ids_; }
  size_t count() const { return offsets_.size() - 1; }

  // The weight with which each id counts in its bag's vector. This process uses
  // these shares to pool rows, and to sum the gradients of bags per id.
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
