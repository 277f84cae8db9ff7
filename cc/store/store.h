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

#include "cc/base/memory_meter.h"
#include "cc/base/status.h"
#include "cc/store/table.h"
#include "cc/store/table_config.h"

namespace persia {

// 0: unlimited.
struct StoreLimits {
  uint64_t memory_bytes = 0;  // Of all tables: see MakeTable.
  uint64_t tables = 0;        // That CreateTable makes.
};

class Store {
 public:
  using Tables = std::unordered_map<TableKey, std::unique_ptr<Table>>;

  // Without limits.
  Store();
  // From now on; what is there stays. Not at once with other calls.
  void SetLimits(const StoreLimits& limits);

  // Makes the table, or attaches to one of the same name and settings.
  // Returns the rows it holds. AlreadyExists, showing both settings, if they
  // differ; InvalidArgument if `config` does not validate; ResourceExhausted
  // if there are as many tables as may be. Throws std::bad_alloc.
  Result<uint64_t> CreateTable(const TableConfig& config);

  // ResourceExhausted if there may be no more tables, of which `config` would
  // be one.
  Status CheckRoomFor(const TableConfig& config) const;

  // The table, which lives until it is replaced. NotFound if there is none.
  Result<Table*> Find(TableKey key) const;

  // By name.
  std::vector<Table*> All() const;

  // Takes these tables, and gives those that had their keys, if any, instead.
  // Nobody may use a table that Find gave before.
  void Replace(Tables* tables);

  // By name.
  std::vector<TableStats> Stats() const;

  // Counts the memory of all tables here, and of those that Replace takes.
  const std::shared_ptr<MemoryMeter>& meter() const { return meter_; }

 private:
  // Expects the lock.
  Status CheckCount(const TableConfig& config) const;

  uint64_t most_tables_ = 0;
  const std::shared_ptr<MemoryMeter> meter_;
  mutable std::shared_mutex mutex_;
  Tables tables_;  // Guarded by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_STORE_H_
