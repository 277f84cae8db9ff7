// Checkpoints: carries out CheckpointRequests, which save and restore the
// tables of a store.
//
// A restore fails with kMoved if slots move to or from the shard meanwhile.
//
// Thread-safe. The actions kSave, kCommit and kSwap may briefly close the gate,
// which blocks all other use of the store. kForget blocks until the background
// work has ended.

#ifndef PERSIA_CC_SAVING_CHECKPOINTS_H_
#define PERSIA_CC_SAVING_CHECKPOINTS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "cc/base/client_window.h"
#include "cc/base/event_log.h"
#include "cc/base/status.h"
#include "cc/files/file_system.h"
#include "cc/journal/journal.h"
#include "cc/saving/background_job.h"
#include "cc/saving/frozen_store.h"
#include "cc/saving/gate.h"
#include "cc/saving/own_shard.h"
#include "cc/saving/save_chain.h"
#include "cc/service/checkpoint_request.h"
#include "cc/store/store.h"
#include "cc/writing/journal_records.h"
#include "cc/writing/slot_windows.h"

namespace persia {

struct CheckpointOptions {
  // No request reaches a file outside this folder or URL. If it is empty,
  // checkpoints are disabled, and requests fail with kFailedPrecondition.
  std::string root;
  // The file system to use, which must outlive all its users. If it is null, a
  // service uses FilesWithin(root).
  FileSystem* files = nullptr;

  // kFailedPrecondition if checkpoints are disabled, because `root` is empty.
  Status CheckRoot() const {
    if (!root.empty()) return Status();
    return Status(Code::kFailedPrecondition,
                  "this server keeps no checkpoints: start it with "
                  "--checkpoint-root FOLDER");
  }
};

class Checkpoints {
 public:
  // The objects that are saved and restored. All must outlive the Checkpoints.
  // A thread must be inside the gate whenever it uses the tables or the window.
  struct Subject {
    Store* store;
    SlotWindows* window;
    Gate* gate;
    std::function<uint64_t()> requests;  // Number of requests so far.
    std::atomic<uint64_t>* generation;
    Journal* journal;  // May be null.
    // Whether the journal records only which checkpoint is the last one,
    // instead of every change of rows.
    bool logs_saves;
    EventLog* events;  // May be null.
    AskOwnShard own;
    // Called with the gate closed, before tables are replaced.
    std::function<void()> before_swap;
  };

  Checkpoints(const CheckpointOptions& options, const Subject& subject)
      : options_(options), subject_(subject) {}

  // Carries out `request`. Must not be called inside the gate, which Do may
  // close.
  Status Do(CheckpointRequest* request);

  // Calls `take`, which may remove or replace tables, and must set `*taken` if
  // it does. During the call the gate is closed, and no save or restore can be
  // started, committed or swapped in. If `*taken` is set, the next save must
  // contain all rows, because the changes since the last save are no longer
  // known. Must not be called inside the gate.
  Status TakeAway(const std::function<Status(bool* taken)>& take);

  // Calls `work`, during which no save or restore can be started, committed or
  // swapped in. kFailedPrecondition if a restore has begun to read its files
  // and was not swapped in yet.
  Status UnlessRestoring(const std::function<Status()>& work);

  // What has become of the saves and restores so far, for operators.
  struct Counts {
    uint64_t saves = 0;           // Committed.
    uint64_t restores = 0;        // Swapped in.
    uint64_t failures = 0;        // Saves and restores that failed.
    uint64_t last_save_unix = 0;  // When a save was committed; 0: never.
  };
  Counts counts() const {
    return {saves_, restores_, failures_, last_save_unix_};
  }

  // The progress of the save or restore that runs or ran last.
  CheckpointProgress job() const { return job_.Progress(); }

  // The save that was committed last.
  CommittedSave committed() const { return chain_.committed(); }

  // Id of the save since which all changes are known, so that the next save may
  // be an increment of it; 0 if there is no such save.
  uint64_t known_base() const { return chain_.known_base(); }
  // Call it when the shard has got slots or given some away.
  void NoteMove() { chain_.NoteMove(); }

 private:
  // The tables and client windows that a restore has read from its files.
  struct Loaded {
    Store::Tables tables;
    // The tables that had the same names in the store when the restore read
    // their settings; null for a name that had no table.
    Store::Tables known;
    std::vector<ClientWindow> clients;
    RestoreRecord from;
  };

  void Forget(uint64_t save_id);
  CheckpointProgress Progress(uint64_t save_id) const;
  ShardHeader HeaderOf(const CheckpointRequest& request) const;
  // Runs `work` in the background, and logs when it starts and how it ends.
  // `what` describes the work in the log, for example "reading checkpoint 5".
  Status Begin(const BackgroundJob::Name& name, const CheckpointProgress& about,
               const std::string& what, BackgroundJob::Work work);
  Status Save(const CheckpointRequest& request);
  Status Freeze(const ShardHeader& header, FrozenStore* frozen);
  Status Commit(const CheckpointRequest& request);
  Status Restore(const CheckpointRequest& request);
  Status Swap(const CheckpointRequest& request);
  Status SwapIn(const CheckpointRequest& request, Loaded* loaded);
  Status CheckSlots(const ShardHeader& read) const;
  Status CheckKnown(const Store::Tables& known) const;
  Status LogSave(const CheckpointRequest& request);
  Status LogRestore(const RestoreRecord& from);

  const CheckpointOptions options_;
  const Subject subject_;
  // Held while a job is started, committed or swapped in, and during TakeAway.
  std::mutex starting_;
  SaveChain chain_;
  std::atomic<uint64_t> saves_{0};
  std::atomic<uint64_t> restores_{0};
  std::atomic<uint64_t> failures_{0};
  std::atomic<uint64_t> last_save_unix_{0};
  // Written by a restore's job; guarded by starting_ once the job has ended.
  Loaded loaded_;
  // Declared last, so that its thread ends before the members that it uses are
  // destroyed.
  BackgroundJob job_;
};

}  // namespace persia

#endif  // PERSIA_CC_SAVING_CHECKPOINTS_H_
