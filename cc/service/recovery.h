// Recovery: makes a store what a journal says that it was.
//
// Not thread-safe: nobody uses the store meanwhile. Everything blocks for as
// long as the device takes.

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

// How a shard comes back after it was killed.
struct RecoveryOptions {
  // Empty folder: it does not.
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

  // To be called once, after the last record.
  Status Finish();

  // Whether the folder had anything.
  bool found() const { return found_; }
  // The checkpoint that the rows are of, if they are.
  const std::optional<RestoreRecord>& checkpoint() const { return checkpoint_; }
  // That which was read since the base, for a log of every change; or "".
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
  // Tables that lost all rows since that checkpoint.
  std::set<TableKey> dropped_;
  std::unordered_map<TableKey, TableIdentity> identities_;  // The last of each.
  UpdateRequest update_;  // Kept for its memory, as is this:
  RowChanges changes_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_RECOVERY_H_
