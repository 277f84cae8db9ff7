// Recovery: rebuilds a store by replaying its recovery log (Journal).
//
// Not thread-safe: no other thread may use the store meanwhile. Every call
// blocks for as long as the device takes.

#ifndef PERSIA_CC_SERVICE_RECOVERY_H_
#define PERSIA_CC_SERVICE_RECOVERY_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "cc/base/status.h"
#include "cc/checkpoint/store_loader.h"
#include "cc/journal/journal.h"
#include "cc/service/checkpoints.h"
#include "cc/service/journal_records.h"
#include "cc/service/update_window.h"
#include "cc/store/store.h"

namespace persia {

// How a shard recovers after it was killed.
struct RecoveryOptions {
  // Empty folder: it does not recover.
  JournalOptions journal;
  RecoveryLevel level = RecoveryLevel::kLog;
};

class Recovery : public JournalVisitor {
 public:
  // All must outlive it.
  struct Subject {
    Store* store;
    UpdateWindow* window;
    std::atomic<uint64_t>* generation;
  };

  Recovery(RecoveryLevel level, const CheckpointOptions& checkpoints,
           const Subject& subject)
      : level_(level), checkpoints_(checkpoints), subject_(subject) {}

  Status OnBase(Store::Tables tables,
                const std::vector<ClientWindow>& clients) override;
  Status OnRecord(const LogRecord& record) override;

  // Call it once, after the last record.
  Status Finish();

  // Whether the folder had a base, a table or a restore.
  bool found() const { return found_; }
  // The checkpoint that the rows come from, if the log records only checkpoints
  // and there is one.
  const std::optional<RestoreRecord>& checkpoint() const { return checkpoint_; }
  // The folder of the checkpoint that was read because the log has no base
  // after its restore, for a log of every change; else "".
  const std::string& needed_checkpoint() const { return needed_checkpoint_; }

 private:
  Status OnOpened(const LogRecord& record);
  Status OnTable(const LogRecord& record);
  Status ChangeOptimizer(const TableConfig& config);
  Status OnChanges(const LogRecord& record);
  Status OnUpdate(const LogRecord& record);
  Status OnAssign(const LogRecord& record);
  Status OnRestore(const LogRecord& record);
  Status OnCut(const LogRecord& record);
  Status OnDrop(const LogRecord& record);
  Status OnUses(const LogRecord& record);
  Status Load(const RestoreRecord& restore);
  Status Read(const RestoreRecord& restore, StoreLoader* loader) const;
  void StopEvictions();

  const RecoveryLevel level_;
  const CheckpointOptions checkpoints_;
  const Subject subject_;
  bool found_ = false;
  std::optional<RestoreRecord> checkpoint_;
  std::string needed_checkpoint_;
  // Tables dropped or cleared since that checkpoint.
  std::set<TableKey> dropped_;
  // The last one logged for each table.
  std::unordered_map<TableKey, TableIdentity> identities_;
  UpdateRequest update_;  // Members only to reuse their memory.
  RowChanges changes_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_RECOVERY_H_
