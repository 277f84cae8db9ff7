#include "cc/pipeline/lookup_bags.h"

namespace persia {

LookupBags::LookupBags(const TableIds& ids, PooledBy pooled_by)
    : pooled_by_(pooled_by),
      offsets_(ids.bag_offsets.begin(), ids.bag_offsets.end()),
      ids_(ids) {
  ids_.bag_offsets = offsets_;
  shares_.Build(ids_);
  if (pooled_by == PooledBy::kService) {
    own_ids_.assign(ids.ids.begin(), ids.ids.end());
    own_weights_.assign(ids.weights.begin(), ids.weights.end());
  }
  ids_.ids = own_ids_;
  ids_.weights = own_weights_;
}

}  // namespace persia
