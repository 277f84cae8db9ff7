#include "cc/client/table_routes.h"

#include "cc/base/hash.h"
#include "cc/service/pooling.h"

namespace persia {

void TableRoutes::SetTakesBags(TableKey table, bool takes_bags) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (takes_bags) {
    take_bags_.insert(table);
  } else {
    take_bags_.erase(table);
  }
}

bool TableRoutes::TakesBags(TableKey table) const {
  if (address_count_ == 1) return true;
  std::lock_guard<std::mutex> lock(mutex_);
  return take_bags_.count(table) > 0;
}

Result<Partition::Table> TableRoutes::Route(const TableIds& ids) const {
  const Status status = CheckBags(ids);
  if (!status.ok()) return status;
  if (ids.combiner == Combiner::kNone) return Partition::Split(ids.ids);
  if (TakesBags(ids.table)) {
    const auto key = static_cast<int64_t>(ids.table);
    return Partition::Whole(ids.ids, ids.vectors(),
                            ShardOf(key, address_count_));
  }
  return InvalidArgument(
      "combiner must be 0 (no bags) for a table whose rows are spread over ",
      address_count_, " shards, received ", static_cast<uint32_t>(ids.combiner),
      ": pool the rows of unique ids, or ask embedding workers (`persia "
      "worker`) and create the table first, so that each says that it takes "
      "bags");
}

}  // namespace persia
