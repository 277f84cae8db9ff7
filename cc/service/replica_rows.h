// ReplicaRows: the rows of a replica, brought to where its source is by what
// the source tells.
//
// They are in a store of this process, whose tables have the source's names and
// rows but leave these alone: no optimizer state, and nothing that admits or
// evicts. If a table of the source comes to have other settings, another store
// is filled, and this one answers until that is done.
//
// One thread applies; the others are thread-safe.

#ifndef PERSIA_CC_SERVICE_REPLICA_ROWS_H_
#define PERSIA_CC_SERVICE_REPLICA_ROWS_H_

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

// Settings of the table that a replica has for one of its source.
TableConfig ReplicaConfig(const TableConfig& source);

class ReplicaRows {
 public:
  // Empty; its follower's number is random.
  static Result<std::unique_ptr<ReplicaRows>> Make(const StoreLimits& limits);

  // The store that answers.
  std::shared_ptr<EmbeddingService> serving() const;

  // The source's settings of a table that it has.
  std::optional<TableConfig> SourceConfig(const std::string& table) const;

  // Where it is: to be asked from.
  const FollowPosition& position() const { return position_; }

  // Applies what the source told. After an error, which is that of the store,
  // it is where it was, and must ask again.
  Status Apply(const ChangesRequest& changes);

 private:
  struct Filled {
    std::shared_ptr<EmbeddingService> service;
    std::unordered_map<TableKey, TableConfig> sources;  // Guarded by mutex_.
  };

  // A table's rows that were there before a beginning with all rows, and were
  // not told of since. A table that was not told of at all the source does not
  // have, as after a start without recovery: the rows stay until it has, or
  // says that it was dropped.
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
  std::shared_ptr<Filled> filling_;  // Mostly the same.
  std::unordered_map<TableKey, OldRows> old_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_REPLICA_ROWS_H_
