#include "cc/client/row_split.h"

namespace persia {
namespace {

struct Numbers {
  const char* name;
  size_t count;
};

Numbers NumbersOf(const TableLookup& table) {
  return {"rows", table.rows.size()};
}

Numbers NumbersOf(const TableUpdate& table) {
  return {"gradients", table.gradients.size()};
}

template <typename Table>
Status SplitTables(const std::vector<Table>& tables, const TableRoutes& routes,
                   const ClusterView& view, Partition* partition) {
  std::vector<Partition::Table> routed;
  routed.reserve(tables.size());
  for (const Table& table : tables) {
    Result<Partition::Table> route = routes.Route(table.ids, view);
    if (!route.ok()) return route.status();
    const Numbers numbers = NumbersOf(table);
    if (numbers.count != table.ids.vectors() * table.ids.dim) {
      return InvalidArgument(numbers.name, " must have ", table.ids.vectors(),
                             " x ", table.ids.dim, " floats, received ",
                             numbers.count);
    }
    routed.push_back(*route);
  }
  return partition->Build(routed, *view.owners);
}

}  // namespace

Status Split(const std::vector<TableLookup>& tables, const TableRoutes& routes,
             const ClusterView& view, Partition* partition) {
  return SplitTables(tables, routes, view, partition);
}

Status Split(const std::vector<TableUpdate>& tables, const TableRoutes& routes,
             const ClusterView& view, Partition* partition) {
  return SplitTables(tables, routes, view, partition);
}

TableIds PartOf(const TableIds& ids, const Partition& partition, size_t table,
                uint32_t shard) {
  TableIds part = ids;
  part.ids = partition.ids(table, shard);
  part.shard_starts = {};
  part.starts_of = 0;
  if (partition.places(table, shard).count > 0) return part;
  // The shard has no vectors of this table, so its part is encoded without
  // bags.
  part.combiner = Combiner::kNone;
  part.bag_offsets = {};
  part.weights = {};
  return part;
}

std::vector<uint32_t> ShardsWithWork(const Partition& partition) {
  std::vector<uint32_t> shards;
  for (uint32_t s = 0; s < partition.shard_count(); ++s) {
    if (partition.HasWork(s)) shards.push_back(s);
  }
  if (shards.empty()) shards.push_back(0);
  return shards;
}

}  // namespace persia
