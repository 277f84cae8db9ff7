// Outcome: what became of an asynchronous call.

#ifndef PERSIA_TESTS_CC_PIPELINE_OUTCOME_H_
#define PERSIA_TESTS_CC_PIPELINE_OUTCOME_H_

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "cc/base/status.h"
#include "cc/pipeline/session.h"
#include "tests/cc/pipeline/wait.h"

namespace persia {

// Thread-safe. Its callbacks may outlive it.
class Outcome {
 public:
  DoneCallback done() {
    return
        [state = state_](Status status) { state->Complete(std::move(status)); };
  }

  bool ready() const {
    std::lock_guard<std::mutex> lock(state_->mutex);
    return state_->ready;
  }

  // These two wait until the call has ended.
  Status status() const { return Await().status; }
  std::thread::id thread() const { return Await().thread; }

 private:
  struct State {
    void Complete(Status new_status) {
      std::lock_guard<std::mutex> lock(mutex);
      EXPECT_FALSE(ready) << "completed twice";
      ready = true;
      status = std::move(new_status);
      thread = std::this_thread::get_id();
      changed.notify_all();
    }

    std::mutex mutex;
    std::condition_variable changed;
    // All below: guarded by mutex, and constant once ready.
    bool ready = false;
    Status status{Code::kInternal, "not completed"};
    std::thread::id thread;
  };

  const State& Await() const {
    std::unique_lock<std::mutex> lock(state_->mutex);
    WaitUntil(&lock, &state_->changed, "an outcome",
              [&] { return state_->ready; });
    return *state_;
  }

  const std::shared_ptr<State> state_ = std::make_shared<State>();
};

inline void ExpectOk(const Status& status) {
  EXPECT_TRUE(status.ok()) << static_cast<int>(status.code()) << " "
                           << status.message();
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_PIPELINE_OUTCOME_H_
