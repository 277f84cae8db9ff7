// Store: the tables of one process.
//
// Thread-safe. No function here blocks, except for a short lock; for calls on
// rows see Table. Tables may be replaced or dropped at any time. So a pointer
// from Find or All is valid only while the caller prevents this; other callers
// use Share or ShareAll.

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
  // The limit on the memory of all tables together: see MakeTable.
  uint64_t memory_bytes = 0;
  // The limit on the number of tables: CreateTable creates no more.
  uint64_t tables = 0;
};

class Store {
 public:
  using Tables =
      std::unordered_map<TableKey, std::shared_ptr<Table>, KeyedHash>;

  // Makes a store without limits.
  Store();
  // The limits apply to later calls; existing tables and rows stay. Must not
  // run concurrently with other calls.
  void SetLimits(const StoreLimits& limits);

  // The share of the tables here, and of those that will be: see
  // Table::SetShare. A new store has all slots.
  uint32_t share() const { return share_.load(); }
  void SetShare(uint32_t slots);

  // Creates the table, or attaches to an existing table with the same name and
  // settings. Returns the number of rows in the table, or one of these errors:
  // - AlreadyExists, listing the differences, if a table of this name has other
  //   settings
  // - InvalidArgument if `config` is not valid
  // - ResourceExhausted if the limit of tables is reached or there is no memory
  //   for an empty table
  //
  // Throws std::bad_alloc.
  Result<uint64_t> CreateTable(const TableConfig& config);

  // Checks whether a table like `config` could be created in this store.
  // Returns ResourceExhausted if the limit of tables is reached or the memory
  // limit leaves no room for a table.
  Status CheckRoomFor(const TableConfig& config) const;

  // Returns the table, which lives until it is replaced or dropped. Returns
  // NotFound if the table does not exist; if it was dropped, the message says
  // so.
  Result<Table*> Find(TableKey key) const;
  // Like Find, but with shared ownership: the table stays usable after it was
  // replaced or dropped.
  Result<std::shared_ptr<Table>> Share(TableKey key) const;

  // All and ShareAll return the tables sorted by name.
  std::vector<Table*> All() const;
  std::vector<std::shared_ptr<Table>> ShareAll() const;

  // Puts each of `tables` into the store, where it gets the store's share, and
  // replaces the table with the same key, if there is one. Afterwards `*tables`
  // has, for each key, the table that was replaced, or null.
  void Replace(Tables* tables);

  // Removes the table, if it exists, and returns it. If `stays`, an empty table
  // with the same settings and identity replaces the table. For a `drop_id`
  // that was seen before, does nothing and returns null: a request may arrive
  // twice, the second time after the table was created again. Returns the
  // errors of MakeTable. Throws std::bad_alloc.
  Result<std::shared_ptr<Table>> Drop(TableKey key, uint64_t drop_id,
                                      bool stays);

  // The settings of at most kRemembered tables that were dropped and not
  // created again.
  std::vector<TableConfig> Dropped() const;

  // Changes whenever a table is created, dropped or replaced.
  uint64_t version() const { return version_.load(); }

  // The statistics of all tables, sorted by name.
  std::vector<TableStats> Stats() const;

  // The meter that counts the memory of all tables here. Tables that are passed
  // to Replace must be created with this meter.
  const std::shared_ptr<MemoryMeter>& meter() const { return meter_; }

 private:
  // The number of dropped tables, and of drop_ids, that the store remembers. A
  // dropped table that it has forgotten is reported as one that never existed.
  static constexpr size_t kRemembered = 4096;

  // The caller of CheckCount, Absence and Remember must hold mutex_.
  Status CheckCount(const TableConfig& config) const;
  Status CheckMemory(const TableConfig& config) const;
  Status Absence(TableKey key) const;
  void Remember(TableKey key, const TableConfig& config);

  uint64_t most_tables_ = 0;
  const std::shared_ptr<MemoryMeter> meter_;
  mutable std::shared_mutex mutex_;
  // Everything below is guarded by mutex_, except version_; share_ only for
  // changes.
  std::atomic<uint32_t> share_{kSlots};
  Tables tables_;
  std::deque<uint64_t> drop_ids_;  // Seen by Drop; the newest is last.
  std::unordered_map<TableKey, TableConfig, KeyedHash> dropped_;
  std::atomic<uint64_t> version_{0};
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_STORE_H_
