// Recovery: rebuilds a store by replaying its recovery log (Journal).
//
// Not thread-safe: no other thread may use the store during the recovery. Every
// call may block on reads of files.

#ifndef PERSIA_CC_SHARD_RECOVERY_H_
#define PERSIA_CC_SHARD_RECOVERY_H_

#include <atomic>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "cc/base/event_log.h"
#include "cc/base/status.h"
#include "cc/checkpoint/store_loader.h"
#include "cc/journal/journal.h"
#include "cc/saving/checkpoints.h"
#include "cc/shard/membership.h"
#include "cc/store/store.h"
#include "cc/writing/journal_records.h"
#include "cc/writing/slot_windows.h"

namespace persia {

// How a shard recovers after it was killed.
struct RecoveryOptions {
  // If journal.folder is "", the shard neither logs nor recovers.
  JournalOptions journal;
  RecoveryLevel level = RecoveryLevel::kLog;
};

class Recovery : public JournalVisitor {
 public:
  // What the recovery rebuilds. All must outlive the Recovery.
  struct Subject {
    std::atomic<uint64_t>* generation;
    ShardSlots slots;
  };

  Recovery(RecoveryLevel level, const CheckpointOptions& checkpoints,
           const Subject& subject)
      : level_(level), checkpoints_(checkpoints), subject_(subject) {}

  Status OnBase(Store::Tables tables,
                const std::vector<ClientWindow>& clients) override;
  Status OnRecord(const LogRecord& record) override;

  // Makes the shard the one whose log was replayed, from now on at `address`:
  // its next incarnation. kFailedPrecondition if the log says that another
  // process is. Call it before Finish.
  Status TakePlace(const std::string& address);

  // Removes the rows of slots that the shard has given away.
  void RemoveGivenAway();

  // Completes the recovery, and loads the checkpoint if the log only names it.
  // Call it once, after the last record.
  Status Finish();

  // The topology by which the log says that a standby has taken the shard's
  // place; null if it does not say so.
  const SharedTopology& replaced_by() const { return replaced_by_; }
  // The checksum of the last record's body; nullopt if there was no record.
  const std::optional<uint32_t>& last_crc() const { return last_crc_; }

  RecoveryLevel level() const { return level_; }
  // Whether the recovery folder named the shard's id and its cluster.
  bool found_topology() const { return found_topology_; }
  // Whether the recovery folder held a base, or a record of a table or a
  // restore.
  bool found() const { return found_; }
  // The checkpoint from which Finish loaded the rows; nullopt if there is none
  // yet, or if the log records every change.
  const std::optional<RestoreRecord>& checkpoint() const { return checkpoint_; }
  // With a log of every change: the folder of the restored checkpoint that was
  // read because the log has no base after that restore. Otherwise "".
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
  Status OnTopology(const LogRecord& record);
  Status OnPlaced(const LogRecord& record);
  Status OnCleared(const LogRecord& record);
  Status OnApplied(const LogRecord& record);
  Status Load(const RestoreRecord& restore);
  Status Read(const RestoreRecord& restore, StoreLoader* loader) const;
  void Remove(const SlotSet& slots);
  void Use(SharedTopology topology);
  void StopEvictions();

  const RecoveryLevel level_;
  const CheckpointOptions checkpoints_;
  const Subject subject_;
  bool found_ = false;
  bool found_topology_ = false;
  std::optional<RestoreRecord> checkpoint_;
  std::string needed_checkpoint_;
  // Tables that were dropped or cleared since checkpoint_.
  std::set<TableKey> dropped_;
  // Each table's last identity in the log.
  std::unordered_map<TableKey, TableIdentity> identities_;
  // Slots that were given away, and whose rows may still be there.
  SlotSet given_away_;
  SharedTopology replaced_by_;
  std::optional<uint32_t> last_crc_;
  // update_ and changes_ are members only to reuse their memory.
  UpdateRequest update_;
  RowChanges changes_;
};

// Logs an event that tells what a shard has recovered. `events` may be null.
void TellRecovery(const Recovery& recovery, const Store& store,
                  const Journal& journal, EventLog* events);

// Logs an event if replay left out the end of the journal's log, because a
// crash tore it or the user gave it up. `events` may be null.
void TellTornTail(const Journal& journal, EventLog* events);

}  // namespace persia

#endif  // PERSIA_CC_SHARD_RECOVERY_H_
