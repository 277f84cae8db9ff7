// Checkpoints: what a store does about CheckpointRequests.
//
// Thread-safe. Saving, restoring and swapping keep others out of the store for
// a moment; forgetting waits for the background work to end; small files block
// for as long as the device takes.

#ifndef PERSIA_CC_SERVICE_CHECKPOINTS_H_
#define PERSIA_CC_SERVICE_CHECKPOINTS_H_

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "cc/base/status.h"
#include "cc/checkpoint/client_window.h"
#include "cc/files/file_system.h"
#include "cc/service/background_job.h"
#include "cc/service/checkpoint_request.h"
#include "cc/service/gate.h"
#include "cc/service/update_window.h"
#include "cc/store/store.h"

namespace persia {

struct CheckpointOptions {
  FileSystem* files = LocalFiles();
  // No request reaches a file outside this folder. Empty: there are no
  // checkpoints, kFailedPrecondition.
  std::string root;
};

class Checkpoints {
 public:
  // What a checkpoint is of. All must outlive it; whoever uses the tables or
  // the window is inside the gate.
  struct Subject {
    Store* store;
    UpdateWindow* window;
    Gate* gate;
    std::atomic<uint64_t>* generation;
  };

  Checkpoints(const CheckpointOptions& options, const Subject& subject)
      : options_(options), subject_(subject) {}

  // Not within the gate.
  Status Do(CheckpointRequest* request);

 private:
  // What a restore has read.
  struct Loaded {
    Store::Tables tables;
    std::vector<ClientWindow> clients;
  };

  Status Save(const CheckpointRequest& request, const std::string& folder);
  Status Restore(const CheckpointRequest& request, const std::string& folder);
  Status Swap(const CheckpointRequest& request);
  Status WriteFile(const CheckpointRequest& request,
                   const std::string& folder) const;
  Status ReadFile(CheckpointRequest* request, const std::string& folder) const;
  Status RemoveFiles(const CheckpointRequest& request,
                     const std::string& folder) const;

  const CheckpointOptions options_;
  const Subject subject_;
  std::mutex starting_;  // Held while a job is begun or swapped in.
  Loaded loaded_;        // The restoring job's; then guarded by starting_.
  BackgroundJob job_;    // Ends before what it uses.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_CHECKPOINTS_H_
