// LookupBags: how one lookup's ids are pooled, and by whom.
//
// Either the service pools: then the bags go to it as they are, and a vector a
// bag comes back. Or this process does: then rows of the unique ids come back.
// The sums are the same, in the same order.
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

  // Precondition: as for BagShares. Keeps no reference to the memory of `ids`.
  LookupBags(const TableIds& ids, PooledBy pooled_by);

  LookupBags(const LookupBags&) = delete;
  LookupBags& operator=(const LookupBags&) = delete;

  PooledBy pooled_by() const { return pooled_by_; }
  // The bags, duplicates included, if the service pools.
  const TableIds& ids() const { return ids_; }
  size_t count() const { return offsets_.size() - 1; }

  // For those that this process pools, and for gradients that it has to sum.
  const BagShares& shares() const { return shares_; }

 private:
  const PooledBy pooled_by_;
  const std::vector<uint32_t> offsets_;
  std::vector<int64_t> own_ids_;    // If the service pools;
  std::vector<float> own_weights_;  // so are these.
  TableIds ids_;
  BagShares shares_;
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_LOOKUP_BAGS_H_
