// Checkpoints: what a store does about CheckpointRequests.
//
// Thread-safe. Saving, restoring and swapping keep others out of the store for
// a moment; forgetting waits for the background work to end; small files block
// for as long as the device takes.

#ifndef PERSIA_CC_SERVICE_CHECKPOINTS_H_
#define PERSIA_CC_SERVICE_CHECKPOINTS_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "cc/base/event_log.h"
#include "cc/base/status.h"
#include "cc/checkpoint/client_window.h"
#include "cc/files/file_system.h"
#include "cc/journal/journal.h"
#include "cc/service/background_job.h"
#include "cc/service/checkpoint_request.h"
#include "cc/service/frozen_store.h"
#include "cc/service/gate.h"
#include "cc/service/journal_records.h"
#include "cc/service/save_chain.h"
#include "cc/service/update_window.h"
#include "cc/store/store.h"

namespace persia {

struct CheckpointOptions {
  // No request reaches a file outside this folder, or URL. Empty: there are no
  // checkpoints, kFailedPrecondition.
  std::string root;
  // Must outlive who uses them. Null: a service takes FilesWithin(root).
  FileSystem* files = nullptr;
};

class Checkpoints {
 public:
  // What a checkpoint is of. All must outlive it; whoever uses the tables or
  // the window is inside the gate.
  struct Subject {
    Store* store;
    UpdateWindow* window;
    Gate* gate;
    std::function<uint64_t()> requests;  // How many there were.
    std::atomic<uint64_t>* generation;
    Journal* journal;  // Or null.
    // Whether the journal tells which checkpoint is the last, and no changes.
    bool logs_saves;
    EventLog* events;  // Or null.
    // Called when the gate is closed, before tables go.
    std::function<void()> before_swap;
  };

  Checkpoints(const CheckpointOptions& options, const Subject& subject)
      : options_(options), subject_(subject) {}

  // Not within the gate.
  Status Do(CheckpointRequest* request);

  // Does what may take tables away, and says in `*taken` whether it did: alone
  // in the store, while no save or restore is begun, committed or swapped in.
  // What changed since a save is then not known any more: the next one is
  // whole. Not within the gate.
  Status TakeAway(const std::function<Status(bool* taken)>& take);

  // The save that was last said to be complete.
  CommittedSave committed() const { return chain_.committed(); }

  // The save since which all changes are known; 0: none.
  uint64_t known_base() const { return chain_.known_base(); }

 private:
  // What a restore has read.
  struct Loaded {
    Store::Tables tables;
    Store::Tables known;  // See StoreLoader::TakeKnown.
    std::vector<ClientWindow> clients;
    RestoreRecord from;
  };

  void Forget(uint64_t save_id);
  CheckpointProgress Progress(const CheckpointRequest& request) const;
  Status DoInFolder(CheckpointRequest* request);
  // Does work in the background, and tells how it began and ended. `what` is
  // "checkpoint 5", say.
  Status Begin(const BackgroundJob::Name& name, const CheckpointProgress& about,
               const std::string& what, BackgroundJob::Work work);
  Status Save(const CheckpointRequest& request, const std::string& folder);
  Status Freeze(const ShardHeader& header, FrozenStore* frozen);
  Status Commit(const CheckpointRequest& request);
  Status Restore(const CheckpointRequest& request);
  Status Swap(const CheckpointRequest& request);
  // See Store::CheckShard.
  Status CheckShard(const CheckpointRequest& request) const;
  Status CheckKnown(const Store::Tables& known) const;
  Status LogSave(const CheckpointRequest& request);
  Status LogRestore(const RestoreRecord& from);
  Status WriteFile(const CheckpointRequest& request,
                   const std::string& folder) const;
  Status ReadFile(CheckpointRequest* request, const std::string& folder) const;
  Status RemoveFiles(const CheckpointRequest& request,
                     const std::string& folder) const;

  const CheckpointOptions options_;
  const Subject subject_;
  std::mutex starting_;  // Held while a job is begun, swapped in or committed.
  SaveChain chain_;
  Loaded loaded_;      // The restoring job's; then guarded by starting_.
  BackgroundJob job_;  // Ends before what it uses.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_CHECKPOINTS_H_
