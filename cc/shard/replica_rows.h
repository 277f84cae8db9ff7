// ReplicaRows: holds a replica's rows, and applies to them the changes that the
// replica's source reports.
//
// The rows are in a store of this process. Its tables have the source's names
// and rows, without optimizer state, admission or eviction: the source decides
// which rows exist. If the settings of one of the source's tables change, a
// second store is filled, and the first one answers until the second one is
// complete.
//
// Apply and position must be called on one thread; the other functions are
// thread-safe.

#ifndef PERSIA_CC_SHARD_REPLICA_ROWS_H_
#define PERSIA_CC_SHARD_REPLICA_ROWS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/store/row_index.h"
#include "cc/store/store.h"

namespace persia {

// Returns the settings of a replica's table, given the settings of the source's
// table.
TableConfig ReplicaConfig(const TableConfig& source);

class ReplicaRows {
 public:
  // Creates an empty replica with a random follower number.
  static Result<std::unique_ptr<ReplicaRows>> Make(const StoreLimits& limits);

  // The store that answers requests.
  std::shared_ptr<EmbeddingService> serving() const;

  // The source's settings of a table; nullopt if this replica does not have the
  // table.
  std::optional<TableConfig> SourceConfig(const std::string& table) const;

  // The position to send in the next request: it says which of the source's
  // changes were applied.
  const FollowPosition& position() const { return position_; }

  // Applies the changes that the source reported. Errors are the store's; the
  // position is then unchanged, so the same changes can be requested again. If
  // a table's settings changed, applies nothing and resets the position, so
  // that the source sends all rows.
  Status Apply(const ChangesRequest& changes);

 private:
  struct Filled {
    std::shared_ptr<EmbeddingService> service;
    std::unordered_map<TableKey, TableConfig> sources;  // Guarded by mutex_.
  };

  // The rows of one table that the replica had when the source began to send
  // all rows, and that the source has not sent since. Once the source has sent
  // all rows, the old rows are removed. But if the source reported nothing
  // about the table, because it was started without recovery, they stay until
  // the source has the table again or reports that the table was dropped.
  struct OldRows {
    std::unique_ptr<RowIndex> ids;
    bool was_told = false;
  };

  explicit ReplicaRows(const StoreLimits& limits) : limits_(limits) {}

  Status BeginEmpty();
  Result<std::shared_ptr<Filled>> MakeFilled() const;
  bool HasOtherSettings(const TableConfig& source) const;
  Status ApplyTo(const TableChanges& table);
  Status ApplyFate(TableKey table, TableFate fate);
  Status MakeTable(const TableConfig& source);
  Status Remove(TableKey table, const std::vector<int64_t>& ids);
  Status CollectOld();
  Status DropOld();
  Status RemoveAll(TableKey table, const RowIndex& index);

  const StoreLimits limits_;
  FollowPosition position_;
  mutable std::mutex mutex_;
  std::shared_ptr<Filled> serving_;  // Guarded by mutex_.
  std::shared_ptr<Filled> filling_;  // Receives changes; usually serving_.
  std::unordered_map<TableKey, OldRows> old_;
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_REPLICA_ROWS_H_
