#include "cc/client/table_routes.h"

#include "cc/service/pooling.h"

namespace persia {

void TableRoutes::SetTakesBags(TableKey table, bool takes_bags) {
  std::lock_guard<std::mutex> lock(mutex_);
  take_bags_[table] = takes_bags;
}

std::optional<bool> TableRoutes::EachHasAllRows(TableKey table,
                                                const ClusterView& view) const {
  if (view.size() == 1) return true;
  // A cluster may have grown since its only shard took all bags.
  if (view.has_shards()) return false;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = take_bags_.find(table);
  if (found == take_bags_.end()) return std::nullopt;
  return found->second;
}

Result<Partition::Table> TableRoutes::Route(const TableIds& ids,
                                            const ClusterView& view) const {
  const Status status = CheckBags(ids);
  if (!status.ok()) return status;
  if (ids.combiner == Combiner::kNone) {
    return Partition::Split(ids);
  }
  if (EachHasAllRows(ids.table, view).value_or(false)) {
    const auto key = static_cast<int64_t>(ids.table);
    return Partition::Whole(ids.ids, ids.vectors(), view.owners->OwnerOf(key));
  }
  return InvalidArgument(
      "combiner must be 0 (no bags) for a table whose rows are spread over ",
      view.size(), " shards, received ", static_cast<uint32_t>(ids.combiner),
      ": look up unique ids and pool their rows; or connect to embedding "
      "workers (`persia worker`), which pool bags, and create the table before "
      "the lookup");
}

}  // namespace persia
