// Store: the tables of one process.
//
// Thread-safe. Nothing here blocks beyond a short lock; see Table for rows.
// Tables may be replaced or dropped: who keeps others from doing that may use
// them as Find and All give them; who goes on with one meanwhile shares it.

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

// 0: unlimited.
struct StoreLimits {
  uint64_t memory_bytes = 0;  // Of all tables: see MakeTable.
  uint64_t tables = 0;        // That CreateTable makes.
};

class Store {
 public:
  using Tables =
      std::unordered_map<TableKey, std::shared_ptr<Table>, KeyedHash>;

  // Without limits.
  Store();
  // From now on; what is there stays. Not at once with other calls.
  void SetLimits(const StoreLimits& limits);

  // Makes the table, or attaches to one of the same name and settings.
  // Returns the rows it holds. AlreadyExists, showing what differs, if they do;
  // InvalidArgument if `config` does not validate; ResourceExhausted if there
  // are as many tables as may be, or no memory for an empty one. Throws
  // std::bad_alloc.
  Result<uint64_t> CreateTable(const TableConfig& config);

  // Whether this store may get a table like `config`. ResourceExhausted if
  // there may be no more tables, or if the memory limit leaves no room for one;
  // else see CheckShard.
  Status CheckRoomFor(const TableConfig& config) const;

  // FailedPrecondition, telling of `what`, unless all tables here are those of
  // shard `index` of `count`: programs that list the shards differently would
  // look for rows in different places.
  Status CheckShard(const std::string& what, uint32_t index,
                    uint32_t count) const;

  // The table, which lives until it is replaced or dropped. NotFound, saying
  // so if it was dropped, if there is none.
  Result<Table*> Find(TableKey key) const;
  // The same, for who goes on with it after that.
  Result<std::shared_ptr<Table>> Share(TableKey key) const;

  // By name.
  std::vector<Table*> All() const;
  std::vector<std::shared_ptr<Table>> ShareAll() const;

  // Takes these tables, and gives those that had their keys, if any, instead.
  void Replace(Tables* tables);

  // Takes the table away, if there is one, and returns it; with `stays`, an
  // empty one of its settings has its place from then on. Does nothing, and
  // returns null, for an id that came before: a request may arrive twice, and
  // the second time when the table was made anew. Errors are those of
  // MakeTable. Throws std::bad_alloc.
  Result<std::shared_ptr<Table>> Drop(TableKey key, uint64_t drop_id,
                                      bool stays);

  // Settings of tables that were dropped and not made anew, as far as they are
  // remembered.
  std::vector<TableConfig> Dropped() const;

  // Another number whenever a table came, went, or was replaced.
  uint64_t version() const { return version_.load(); }

  // By name.
  std::vector<TableStats> Stats() const;

  // Counts the memory of all tables here, and of those that Replace takes.
  const std::shared_ptr<MemoryMeter>& meter() const { return meter_; }

 private:
  // How many drops are remembered. What is told of an older one is told as of a
  // table that never was.
  static constexpr size_t kRemembered = 4096;

  // These expect the lock.
  Status CheckCount(const TableConfig& config) const;
  Status CheckMemory(const TableConfig& config) const;
  Status Absence(TableKey key) const;
  void Remember(TableKey key, const TableConfig& config);

  uint64_t most_tables_ = 0;
  const std::shared_ptr<MemoryMeter> meter_;
  mutable std::shared_mutex mutex_;
  // All below are guarded by mutex_, but the last.
  Tables tables_;
  std::deque<uint64_t> drop_ids_;  // That came, the newest last.
  std::unordered_map<TableKey, TableConfig, KeyedHash> dropped_;
  std::atomic<uint64_t> version_{0};
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_STORE_H_
