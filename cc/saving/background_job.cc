#include "cc/saving/background_job.h"

#include <system_error>
#include <utility>

#include "cc/base/catch_bad_alloc.h"

namespace persia {

bool BackgroundJob::Is(const Name& name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return job_ != nullptr && job_->name == name;
}

CheckpointAction BackgroundJob::action() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return job_ == nullptr ? CheckpointAction::kProgress : job_->name.action;
}

Status BackgroundJob::CheckNoneRuns() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return CheckEnded();
}

Status BackgroundJob::CheckEnded() const {
  if (job_ == nullptr || job_->ended) return Status();
  return Status(Code::kFailedPrecondition,
                Concat("save or restore ", job_->name.save_id,
                       " is in progress on this shard: wait until it has "
                       "ended"));
}

Status BackgroundJob::Start(const Name& name, const CheckpointProgress& about,
                            Work work) {
  std::lock_guard<std::mutex> lock(mutex_);
  PERSIA_RETURN_IF_ERROR(CheckEnded());
  // Does not wait, since the job has ended.
  if (job_ != nullptr) job_->thread.join();
  job_ = std::make_unique<Job>();
  job_->name = name;
  job_->about = about;
  Job* const job = job_.get();
  try {
    job->thread = std::thread([this, job, work = std::move(work)] {
      const Status outcome =
          CatchBadAlloc([&] { return work(&job->progress); });
      std::lock_guard<std::mutex> lock(mutex_);
      job->outcome = outcome;
      job->ended = true;
    });
  } catch (const std::system_error& error) {
    job_ = nullptr;
    return Status(Code::kResourceExhausted,
                  Concat("cannot start a thread: ", error.what()));
  }
  return Status();
}

CheckpointProgress BackgroundJob::Progress(uint64_t save_id) const {
  std::lock_guard<std::mutex> lock(mutex_);
  if (job_ == nullptr || (save_id != 0 && job_->name.save_id != save_id)) {
    return CheckpointProgress();
  }
  CheckpointProgress progress = job_->about;
  progress.state = job_->ended ? CheckpointProgress::State::kEnded
                               : CheckpointProgress::State::kRunning;
  progress.outcome = job_->outcome;
  progress.rows = job_->progress.rows;
  progress.bytes = job_->progress.bytes;
  return progress;
}

void BackgroundJob::Forget() {
  std::unique_ptr<Job> job;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    job.swap(job_);
  }
  if (job == nullptr) return;
  job->progress.cancelled = true;
  job->thread.join();
}

}  // namespace persia
