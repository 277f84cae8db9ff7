// How Lookup and Update split a request's tables into parts, one per shard.

#ifndef PERSIA_CC_CLIENT_ROW_SPLIT_H_
#define PERSIA_CC_CLIENT_ROW_SPLIT_H_

#include <cstdint>
#include <vector>

#include "cc/client/partition.h"
#include "cc/client/table_routes.h"
#include "cc/service/embedding_service.h"

namespace persia {

// Builds `partition` for the tables, along their routes. InvalidArgument if ids
// are malformed, if bags have no route, or unless each table has vectors() x
// dim numbers. kResourceExhausted if memory runs out.
Status Split(const std::vector<TableLookup>& tables, const TableRoutes& routes,
             Partition* partition);
Status Split(const std::vector<TableUpdate>& tables, const TableRoutes& routes,
             Partition* partition);

// The shard's part of the ids of one of the partition's tables.
TableIds PartOf(const TableIds& ids, const Partition& partition, size_t table,
                uint32_t shard);

// The shards to ask: those with work, or shard 0 if no shard has any, since the
// call still needs the generation, or the error if there is no such table.
std::vector<uint32_t> ShardsWithWork(const Partition& partition);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_ROW_SPLIT_H_
