// Store: the tables of one process.
//
// Thread-safe. Nothing here blocks except for a short lock; see Table for its
// rows. Tables may be replaced or dropped at any time. A pointer from Find or
// All is valid only if the caller prevents that; otherwise use Share or
// ShareAll.

#ifndef PERSIA_CC_STORE_STORE_H_
#define PERSIA_CC_STORE_STORE_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cc/base/keyed_hash.h"
#include "cc/base/memory_meter.h"
#include "cc/base/status.h"
#include "cc/store/table.h"
#include "cc/store/table_config.h"

namespace persia {

// In both fields, 0 means unlimited.
struct StoreLimits {
  uint64_t memory_bytes = 0;  // Of all tables: see MakeTable.
  uint64_t tables = 0;        // The most that CreateTable creates.
};

class Store {
 public:
  using Tables =
      std::unordered_map<TableKey, std::shared_ptr<Table>, KeyedHash>;

  // Without limits.
  Store();
  // Takes effect for later calls; existing tables and rows stay. Must not run
  // concurrently with other calls.
  void SetLimits(const StoreLimits& limits);

  // Creates the table, or attaches to an existing one with the same name and
  // settings. Returns the number of rows in it. AlreadyExists, listing the
  // differences, if the existing one has other settings; InvalidArgument if
  // `config` does not validate; ResourceExhausted if the limit of tables is
  // reached or there is no memory for an empty one. Throws std::bad_alloc.
  Result<uint64_t> CreateTable(const TableConfig& config);

  // Whether a table like `config` could be created in this store.
  // ResourceExhausted if the limit of tables is reached or the memory limit
  // leaves no room for one; otherwise as CheckShard.
  Status CheckRoomFor(const TableConfig& config) const;

  // FailedPrecondition, with `what` in the message, unless all tables here are
  // those of shard `index` of `count`: programs that list the shards in
  // different orders would look for rows on different shards.
  Status CheckShard(const std::string& what, uint32_t index,
                    uint32_t count) const;

  // The table, which lives until it is replaced or dropped. NotFound if it does
  // not exist; the message says if it was dropped.
  Result<Table*> Find(TableKey key) const;
  // The same, with shared ownership: it stays usable after that.
  Result<std::shared_ptr<Table>> Share(TableKey key) const;

  // Both are sorted by name.
  std::vector<Table*> All() const;
  std::vector<std::shared_ptr<Table>> ShareAll() const;

  // Swaps `tables` in. Afterwards `*tables` has the tables that they replaced,
  // or null for new keys.
  void Replace(Tables* tables);

  // Removes the table, if it exists, and returns it. With `stays`, an empty
  // table with the same settings and identity takes its place. Does nothing and
  // returns null for a `drop_id` that was seen before: a request may arrive
  // twice, the second time after the table was created again. Errors are those
  // of MakeTable. Throws std::bad_alloc.
  Result<std::shared_ptr<Table>> Drop(TableKey key, uint64_t drop_id,
                                      bool stays);

  // Settings of tables that were dropped and not created again, of the last
  // kRemembered ones.
  std::vector<TableConfig> Dropped() const;

  // Changes whenever a table is created, dropped or replaced.
  uint64_t version() const { return version_.load(); }

  // Sorted by name.
  std::vector<TableStats> Stats() const;

  // Counts the memory of all tables here. Tables for Replace must be created
  // with it too.
  const std::shared_ptr<MemoryMeter>& meter() const { return meter_; }

 private:
  // How many drops are remembered. A table that was dropped earlier is reported
  // as one that never existed.
  static constexpr size_t kRemembered = 4096;

  // These require the lock.
  Status CheckCount(const TableConfig& config) const;
  Status CheckMemory(const TableConfig& config) const;
  Status Absence(TableKey key) const;
  void Remember(TableKey key, const TableConfig& config);

  uint64_t most_tables_ = 0;
  const std::shared_ptr<MemoryMeter> meter_;
  mutable std::shared_mutex mutex_;
  // Everything below is guarded by mutex_, except version_.
  Tables tables_;
  std::deque<uint64_t> drop_ids_;  // Seen by Drop; the newest is last.
  std::unordered_map<TableKey, TableConfig, KeyedHash> dropped_;
  std::atomic<uint64_t> version_{0};
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_STORE_H_
