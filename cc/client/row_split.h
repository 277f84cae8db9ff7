// What Lookup and Update have in common: how a request's tables are split into
// parts, one a shard.

#ifndef PERSIA_CC_CLIENT_ROW_SPLIT_H_
#define PERSIA_CC_CLIENT_ROW_SPLIT_H_

#include <cstdint>
#include <vector>

#include "cc/client/partition.h"
#include "cc/client/table_routes.h"
#include "cc/service/embedding_service.h"

namespace persia {

// InvalidArgument for ids that are not well-formed or go nowhere, and unless
// each table has vectors() x dim numbers.
Status Split(const std::vector<TableLookup>& tables, const TableRoutes& routes,
             Partition* partition);
Status Split(const std::vector<TableUpdate>& tables, const TableRoutes& routes,
             Partition* partition);

// The shard's part of the ids of one of the partition's tables.
TableIds PartOf(const TableIds& ids, const Partition& partition, size_t table,
                uint32_t shard);

// Shards with nothing to do are not asked; but somebody must be, if only for
// the generation, or to say that there is no such table.
std::vector<uint32_t> ShardsWithWork(const Partition& partition);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_ROW_SPLIT_H_
