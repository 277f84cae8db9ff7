// MoveControl: how far a move of slots is, and whether it is to stop.
//
// Thread-safe. Only WaitUntil blocks.

#ifndef PERSIA_CC_SHARD_MOVE_CONTROL_H_
#define PERSIA_CC_SHARD_MOVE_CONTROL_H_

#include <condition_variable>
#include <mutex>

#include "cc/base/clock.h"
#include "cc/base/status.h"
#include "cc/service/move_request.h"

namespace persia {

class MoveControl {
 public:
  // Begins another move, with its progress as it is at first.
  void Begin(const MoveProgress& first) {
    std::lock_guard<std::mutex> lock(mutex_);
    progress_ = first;
    stopping_ = false;
  }

  // Lets the move end soon.
  void Stop() {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }

  MoveProgress progress() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return progress_;
  }

  // Calls change(MoveProgress*).
  template <typename ChangeProgress>
  void Change(const ChangeProgress& change) {
    std::lock_guard<std::mutex> lock(mutex_);
    change(&progress_);
  }

  // kCancelled if the move is to stop.
  Status CheckStopping() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return stopping_ ? Status(Code::kCancelled, "the move was stopped")
                     : Status();
  }

  // Waits until then, unless the move is to stop: returns kCancelled at once.
  Status WaitUntil(Clock::time_point time) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      changed_.wait_until(lock, time, [this] { return stopping_; });
    }
    return CheckStopping();
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  MoveProgress progress_;  // Guarded by mutex_, as is stopping_.
  bool stopping_ = false;
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_MOVE_CONTROL_H_
