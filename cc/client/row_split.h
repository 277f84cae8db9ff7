// Splits the tables of a Lookup or an Update into parts, one per shard.

#ifndef PERSIA_CC_CLIENT_ROW_SPLIT_H_
#define PERSIA_CC_CLIENT_ROW_SPLIT_H_

#include <cstdint>
#include <vector>

#include "cc/client/cluster_view.h"
#include "cc/client/partition.h"
#include "cc/client/table_routes.h"
#include "cc/service/embedding_service.h"

namespace persia {

// Builds `partition` for the tables, according to their routes, over the
// servers of a view. Returns InvalidArgument if ids are malformed, if the
// servers do not accept a table's bags, or if a table's rows or gradients are
// not vectors() x dim numbers. Returns kResourceExhausted if memory runs out.
Status Split(const std::vector<TableLookup>& tables, const TableRoutes& routes,
             const ClusterView& view, Partition* partition);
Status Split(const std::vector<TableUpdate>& tables, const TableRoutes& routes,
             const ClusterView& view, Partition* partition);

// Returns the part of `ids` that goes to the shard. `ids` are the ids of table
// number `table` in the partition.
TableIds PartOf(const TableIds& ids, const Partition& partition, size_t table,
                uint32_t shard);

// Returns the shards that a call sends requests to: those with at least one
// vector, or shard 0 if no shard has a vector. Even a call without vectors
// needs a reply, which reports the generation, or that the table does not
// exist.
std::vector<uint32_t> ShardsWithWork(const Partition& partition);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_ROW_SPLIT_H_
