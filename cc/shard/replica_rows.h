// ReplicaRows: holds a replica's rows, and applies to them the changes that the
// replica's source reports.
//
// The rows are in a store of this process. Its tables have the source's names
// and rows, without optimizer state, admission or eviction: the source decides
// which rows exist. If the settings of one of the source's tables change, a
// second store is filled, and the first one answers until the second one is
// complete.
//
// The slots that are served are those of the source of which the replica has
// got all rows. When the source gives slots away, the replica first stops to
// serve them, and then removes their rows.
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
#include <unordered_set>
#include <vector>

#include "cc/base/owned_slots.h"
#include "cc/base/slot_set.h"
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

  // The slots that are served. The same pointer stands for the same slots.
  struct Slots {
    OwnedSlots owned;  // By the source.
    SlotSet served;    // The slots of `owned`.
    bool all = false;
  };
  std::shared_ptr<const Slots> slots() const;

  // The position to send in the next request: it says which of the source's
  // changes were applied.
  const FollowPosition& position() const { return position_; }

  // Applies the changes that the source reported. Errors are the store's; the
  // position is then unchanged, so the same changes can be requested again. If
  // a table's settings changed, applies nothing and resets the position, so
  // that the source sends all rows.
  Status Apply(const ChangesRequest& changes);

 private:
  // The slots of a store that are served, which the store's followers are told
  // of. Thread-safe.
  class ServedSlots {
   public:
    ServedSlots() { Set({}); }
    void Set(OwnedSlots owned);
    std::shared_ptr<const Slots> get() const;

   private:
    mutable std::mutex mutex_;
    std::shared_ptr<const Slots> slots_;  // Guarded by mutex_; never null.
  };

  struct Filled {
    std::shared_ptr<EmbeddingService> service;
    std::shared_ptr<ServedSlots> slots;
    std::unordered_map<TableKey, TableConfig> sources;  // Guarded by mutex_.
  };

  explicit ReplicaRows(const StoreLimits& limits) : limits_(limits) {}

  Status BeginEmpty();
  Result<std::shared_ptr<Filled>> MakeFilled() const;
  bool HasOtherSettings(const TableConfig& source) const;
  Status ApplyTo(const TableChanges& table);
  Status ApplyFate(TableKey table, TableFate fate);
  Status MakeTable(const TableConfig& source);
  Status Remove(TableKey table, const std::vector<int64_t>& ids);
  // Notes which slots the source owns now, and stops to serve others.
  Status NoteSlots(const ChangesRequest& changes);
  void Serve(const OwnedSlots& owned);
  Status RemoveSlots(const SlotSet& slots);
  Status CollectOld(const SlotSet& slots);
  Status DropOld();
  // Calls use(table, id) for each row in these slots of the store that is
  // filled.
  template <typename Use>
  Status ForEachRow(const SlotSet& slots, const Use& use);
  Status RemoveAll(TableKey table, const std::vector<int64_t>& ids);

  const StoreLimits limits_;
  FollowPosition position_;
  mutable std::mutex mutex_;
  std::shared_ptr<Filled> serving_;  // Guarded by mutex_.
  std::shared_ptr<Filled> filling_;  // Receives changes; usually serving_.
  // The ids that a table had when the source began to send all rows of their
  // slots, and that the source has not sent since. Once the source has sent all
  // rows, these are removed. But if the source reported nothing about the
  // table, because it was started without recovery, they stay until the source
  // has the table again or reports that the table was dropped.
  std::unordered_map<TableKey, std::unique_ptr<RowIndex>> old_;
  std::unordered_set<TableKey> told_;  // Tables reported in this epoch.
  OwnedSlots held_;   // The slots that the source owned as of its last reply.
  SlotSet unfilled_;  // Those of which it has not told all rows yet.
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_REPLICA_ROWS_H_
