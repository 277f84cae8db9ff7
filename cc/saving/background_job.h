// BackgroundJob: runs one piece of work at a time on a thread of its own.
//
// Thread-safe. Only Forget and the destructor block, until the work has ended.

#ifndef PERSIA_CC_SAVING_BACKGROUND_JOB_H_
#define PERSIA_CC_SAVING_BACKGROUND_JOB_H_

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
  // A function that does the work of a job. It must return soon after
  // `progress->cancelled` is set.
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

  // Whether the job that was started last has this name and was not forgotten.
  bool Is(const Name& name) const;

  // The action of the job that was started last and was not forgotten;
  // kProgress if there is none.
  CheckpointAction action() const;

  // Starts a job that runs `work`. `about` holds those parts of the progress
  // that are known before the work starts. An earlier job that has ended is
  // forgotten; kFailedPrecondition if another job still runs.
  Status Start(const Name& name, const CheckpointProgress& about, Work work);

  // Returns the error that Start would return: kFailedPrecondition if a job
  // runs.
  Status CheckNoneRuns() const;

  // The progress of the job that was started last; of the save or restore
  // `save_id` only, unless that is 0. kIdle if there is no such job.
  CheckpointProgress Progress(uint64_t save_id = 0) const;

  // Cancels the job, blocks until its work has ended, and discards its outcome.
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

  Status CheckEnded() const;  // Requires mutex_.

  mutable std::mutex mutex_;
  std::unique_ptr<Job> job_;  // Guarded by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_SAVING_BACKGROUND_JOB_H_
