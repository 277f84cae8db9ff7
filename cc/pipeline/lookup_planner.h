// LookupPlanner: makes the records of lookups, and decides how their ids
// travel.
//
// Bags go to the service if it pools the bags of their table, and if they then
// move fewer bytes than the unique ids and their rows would: where ids repeat
// from bag to bag, their rows may be fewer than the vectors. The choice depends
// on the ids alone. It changes bytes, and no result where float32 travels;
// another dtype rounds vectors where it would have rounded rows.
//
// Thread-safe; blocks for a short lock at most.

#ifndef PERSIA_CC_PIPELINE_LOOKUP_PLANNER_H_
#define PERSIA_CC_PIPELINE_LOOKUP_PLANNER_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>

#include "cc/pipeline/layer_lookup.h"
#include "cc/wire/wire_dtype.h"

namespace persia {

class LookupPlanner {
 public:
  // Of a service that splits ids over `shard_count` shards.
  LookupPlanner(uint32_t shard_count, WireDtype wire_dtype)
      : shard_count_(shard_count), wire_dtype_(wire_dtype) {}

  // The service pools bags of `table` from now on.
  void SendBagsOf(TableKey table);

  // The record of a lookup of `layer`. Precondition: CheckBags(ids) is OK. Ids
  // may repeat.
  std::shared_ptr<LookupRecord> Plan(const std::string& layer,
                                     const TableIds& ids) const;

 private:
  bool MoveLessThanRows(const TableIds& bags, size_t unique_ids) const;
  bool PoolsBagsOf(TableKey table) const;

  const uint32_t shard_count_;
  const WireDtype wire_dtype_;
  mutable std::mutex mutex_;
  std::unordered_set<TableKey> tables_;  // Of bags that are pooled; by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_LOOKUP_PLANNER_H_
