// TableRoutes: to which of a client's addresses the ids of each table go.
//
// Ids without bags are split: each goes to the owner of its slot. Bags cannot
// be split, so all bags of a table go to the owner of the table key's slot.
// That works only if each address reaches all of the table's rows, as embedding
// workers do; a worker reports this when the table is created. The rows of such
// a table are also exported from one address.
//
// TableRoutes is thread-safe and holds a lock only for a short time.

#ifndef PERSIA_CC_CLIENT_TABLE_ROUTES_H_
#define PERSIA_CC_CLIENT_TABLE_ROUTES_H_

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "cc/base/status.h"
#include "cc/client/cluster_view.h"
#include "cc/client/partition.h"
#include "cc/service/embedding_service.h"

namespace persia {

class TableRoutes {
 public:
  // Records whether all addresses accept bags of the table.
  void SetTakesBags(TableKey table, bool takes_bags);

  // Whether each address reaches all of the table's rows, so that an export
  // from all addresses would return each row several times. nullopt if that is
  // not known yet.
  std::optional<bool> EachHasAllRows(TableKey table,
                                     const ClusterView& view) const;

  // Returns the ids with their route. Returns InvalidArgument for malformed
  // ids, and for bags that the addresses do not accept. With a single address,
  // the server itself checks whether it accepts bags.
  Result<Partition::Table> Route(const TableIds& ids,
                                 const ClusterView& view) const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<TableKey, bool> take_bags_;  // Guarded by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_TABLE_ROUTES_H_
