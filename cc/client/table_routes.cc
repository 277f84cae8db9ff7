#include "cc/client/table_routes.h"

#include "cc/base/hash.h"
#include "cc/service/pooling.h"

namespace persia {

void TableRoutes::SetTakesBags(TableKey table, bool takes_bags) {
  std::lock_guard<std::mutex> lock(mutex_);
  take_bags_[table] = takes_bags;
}

std::optional<bool> TableRoutes::EachHasAllRows(TableKey table) const {
  if (address_count_ == 1) return true;
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = take_bags_.find(table);
  if (found == take_bags_.end()) return std::nullopt;
  return found->second;
}

Result<Partition::Table> TableRoutes::Route(const TableIds& ids) const {
  const Status status = CheckBags(ids);
  if (!status.ok()) return status;
  if (ids.combiner == Combiner::kNone) {
    return Partition::Split(ids.ids, ids.shard_starts);
  }
  if (EachHasAllRows(ids.table).value_or(false)) {
    const auto key = static_cast<int64_t>(ids.table);
    return Partition::Whole(ids.ids, ids.vectors(),
                            ShardOf(key, address_count_));
  }
  return InvalidArgument(
      "combiner must be 0 (no bags) for a table whose rows are spread over ",
      address_count_, " shards, received ", static_cast<uint32_t>(ids.combiner),
      ": look up unique ids and pool their rows; or connect to embedding "
      "workers (`persia worker`), which pool bags, and create the table before "
      "the lookup");
}

}  // namespace persia
