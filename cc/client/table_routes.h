// TableRoutes: how a table's rows are spread over the addresses of a client.
//
// Plain ids are split: each goes to address ShardOf(id, N). Bags cannot be, so
// a table's bags go whole to address ShardOf(table key, N); which is right only
// where each address stands before all of the table's rows, as embedding
// workers do, and as they say when the table is created. There, all rows are
// exported from one address.
//
// Thread-safe; blocks for a short lock at most.

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

  // What all addresses said of the table.
  void SetTakesBags(TableKey table, bool takes_bags);

  // Whether each address stands before all of the table's rows, so that all
  // together would give each row several times. Nothing if nobody said it yet.
  std::optional<bool> EachHasAllRows(TableKey table) const;

  // InvalidArgument for ids that are not well-formed, and for bags where they
  // are not taken. A single address is left to judge for itself.
  Result<Partition::Table> Route(const TableIds& ids) const;

 private:
  const uint32_t address_count_;
  mutable std::mutex mutex_;
  std::unordered_map<TableKey, bool> take_bags_;  // Guarded by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_TABLE_ROUTES_H_
