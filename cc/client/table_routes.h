// TableRoutes: which of a client's addresses a table's ids go to.
//
// Ids without bags are split: each goes to address ShardOf(id, N). Bags cannot
// be split, so all of a table's bags go to address ShardOf(table key, N). That
// works only if each address reaches all of the table's rows, as embedding
// workers do; they report it when the table is created. In that case all rows
// are also exported from one address.
//
// Thread-safe; holds a lock only for a short time.

#ifndef PERSIA_CC_CLIENT_TABLE_ROUTES_H_
#define PERSIA_CC_CLIENT_TABLE_ROUTES_H_

#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "cc/base/status.h"
#include "cc/client/partition.h"
#include "cc/service/embedding_service.h"

namespace persia {

class TableRoutes {
 public:
  explicit TableRoutes(uint32_t address_count)
      : address_count_(address_count) {}

  uint32_t address_count() const { return address_count_; }

  // Sets whether all addresses take bags of the table.
  void SetTakesBags(TableKey table, bool takes_bags);

  // Whether each address reaches all of the table's rows, so that an export
  // from all addresses would return each row several times. nullopt if that is
  // not known yet.
  std::optional<bool> EachHasAllRows(TableKey table) const;

  // InvalidArgument for malformed ids, and for bags that the addresses do not
  // take. With a single address, the server itself checks the latter.
  Result<Partition::Table> Route(const TableIds& ids) const;

 private:
  const uint32_t address_count_;
  mutable std::mutex mutex_;
  std::unordered_map<TableKey, bool> take_bags_;  // Guarded by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_TABLE_ROUTES_H_
