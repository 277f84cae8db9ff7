// Store: the tables of one process.
//
// Thread-safe. Nothing here blocks beyond a short lock; see Table for rows.

#ifndef PERSIA_CC_STORE_STORE_H_
#define PERSIA_CC_STORE_STORE_H_

#include <cstdint>
#include <memory>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "cc/base/status.h"
#include "cc/store/table.h"
#include "cc/store/table_config.h"

namespace persia {

class Store {
 public:
  using Tables = std::unordered_map<TableKey, std::unique_ptr<Table>>;

  // Makes the table, or attaches to one of the same name and settings.
  // Returns the rows it holds. AlreadyExists, showing both settings, if they
  // differ; InvalidArgument if `config` does not validate.
  Result<uint64_t> CreateTable(const TableConfig& config);

  // The table, which lives until it is replaced. NotFound if there is none.
  Result<Table*> Find(TableKey key) const;

  // By name.
  std::vector<Table*> All() const;

  // Takes these tables, and gives those that had their keys, if any, instead.
  // Nobody may use a table that Find gave before.
  void Replace(Tables* tables);

  // By name.
  std::vector<TableStats> Stats() const;

 private:
  mutable std::shared_mutex mutex_;
  Tables tables_;  // Guarded by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_STORE_H_
