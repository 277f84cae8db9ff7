// BackgroundJob: runs one piece of work at a time on a thread of its own.
//
// Thread-safe. Only Forget and the destructor wait for the work.

#ifndef PERSIA_CC_SERVICE_BACKGROUND_JOB_H_
#define PERSIA_CC_SERVICE_BACKGROUND_JOB_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "cc/base/status.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/service/checkpoint_request.h"

namespace persia {

class BackgroundJob {
 public:
  // Must return soon after `progress` says that it is cancelled.
  using Work = std::function<Status(ShardProgress* progress)>;

  BackgroundJob() = default;
  ~BackgroundJob() { Forget(); }
  BackgroundJob(const BackgroundJob&) = delete;
  BackgroundJob& operator=(const BackgroundJob&) = delete;

  // Identifies the job, so that a repeated request does not start it again.
  struct Name {
    CheckpointAction action = CheckpointAction::kProgress;
    uint64_t save_id = 0;

    friend bool operator==(const Name& a, const Name& b) {
      return a.action == b.action && a.save_id == b.save_id;
    }
  };

  // Whether this job was started and not forgotten since.
  bool Is(const Name& name) const;

  // `about` holds what is known before the work starts. kFailedPrecondition
  // while another job runs; a job that has ended is forgotten.
  Status Start(const Name& name, const CheckpointProgress& about, Work work);

  // The error that Start would return if another job runs.
  Status CheckNoneRuns() const;

  CheckpointProgress Progress() const;

  // Cancels the work, blocks until it has ended and forgets it.
  void Forget();

 private:
  struct Job {
    Name name;
    CheckpointProgress about;
    ShardProgress progress;
    bool ended = false;  // Guarded by mutex_, as is `outcome`.
    Status outcome;
    std::thread thread;
  };

  Status CheckEnded() const;  // Expects mutex_ to be held.

  mutable std::mutex mutex_;
  std::unique_ptr<Job> job_;  // Guarded by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_BACKGROUND_JOB_H_
