// Checkpoints: how a store carries out CheckpointRequests.
//
// Thread-safe. Saving, committing and swapping briefly close the gate, which
// blocks all use of the store; forgetting blocks until the background work has
// ended; operations on small files block for as long as the device takes.

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
  // No request reaches a file outside this folder or URL. Empty: there are no
  // checkpoints, and requests fail with kFailedPrecondition.
  std::string root;
  // Must outlive all its users. Null: a service uses FilesWithin(root).
  FileSystem* files = nullptr;
};

class Checkpoints {
 public:
  // What a checkpoint is made from. All must outlive it; every thread that uses
  // the tables or the window does so inside the gate.
  struct Subject {
    Store* store;
    UpdateWindow* window;
    Gate* gate;
    std::function<uint64_t()> requests;  // Number so far.
    std::atomic<uint64_t>* generation;
    Journal* journal;  // Or null.
    // Whether the journal records only which checkpoint is the last, not every
    // change of rows.
    bool logs_saves;
    EventLog* events;  // Or null.
    // Called with the gate closed, before tables are replaced.
    std::function<void()> before_swap;
  };

  Checkpoints(const CheckpointOptions& options, const Subject& subject)
      : options_(options), subject_(subject) {}

  // Must not be called inside the gate.
  Status Do(CheckpointRequest* request);

  // Calls `take`, which may remove or replace tables and sets `*taken` if it
  // did. Meanwhile the gate is closed, and no save or restore can be started,
  // committed or swapped in. After tables were taken, the changes since the
  // last save are no longer known: the next save must be of all rows. Must not
  // be called inside the gate.
  Status TakeAway(const std::function<Status(bool* taken)>& take);

  // The save that was committed last.
  CommittedSave committed() const { return chain_.committed(); }

  // The save since which all changes are known, so that an increment of it is
  // possible; 0: none.
  uint64_t known_base() const { return chain_.known_base(); }

 private:
  // The result of reading a restore's files.
  struct Loaded {
    Store::Tables tables;
    Store::Tables known;  // See StoreLoader::TakeKnown.
    std::vector<ClientWindow> clients;
    RestoreRecord from;
  };

  void Forget(uint64_t save_id);
  CheckpointProgress Progress(const CheckpointRequest& request) const;
  Status DoInFolder(CheckpointRequest* request);
  // Runs `work` in the background, and logs when it starts and how it ends.
  // `what` describes it: "checkpoint 5", say.
  Status Begin(const BackgroundJob::Name& name, const CheckpointProgress& about,
               const std::string& what, BackgroundJob::Work work);
  Status Save(const CheckpointRequest& request, const std::string& folder);
  Status Freeze(const ShardHeader& header, FrozenStore* frozen);
  Status Commit(const CheckpointRequest& request);
  Status Restore(const CheckpointRequest& request);
  Status Swap(const CheckpointRequest& request);
  Status SwapIn(const CheckpointRequest& request, Loaded* loaded);
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
  // Held while a job is started, swapped in, committed or forgotten.
  std::mutex starting_;
  SaveChain chain_;
  Loaded loaded_;      // Owned by the restoring job; then guarded by starting_.
  BackgroundJob job_;  // Destroyed before what it uses.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_CHECKPOINTS_H_
