// CallResult: waits for the end of an asynchronous service call, and has its
// status.

#ifndef PERSIA_TESTS_CC_SUPPORT_CALL_RESULT_H_
#define PERSIA_TESTS_CC_SUPPORT_CALL_RESULT_H_

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <utility>

#include "cc/service/embedding_service.h"

namespace persia {

// After this time a hang fails the test; nothing else takes nearly so long.
inline constexpr std::chrono::seconds kHang{60};

class CallResult {
 public:
  // To be passed to one call.
  DoneCallback done() {
    return [state = state_](Status status) {
      EXPECT_FALSE(state->is_done.exchange(true)) << "done was called twice";
      state->promise.set_value(std::move(status));
    };
  }

  bool ready() const {
    return future_.wait_for(std::chrono::seconds(0)) ==
           std::future_status::ready;
  }

  Status Wait() const {
    if (future_.wait_for(kHang) == std::future_status::ready) {
      return future_.get();
    }
    ADD_FAILURE() << "the call never ended";
    return Status(Code::kInternal, "the call never ended");
  }

 private:
  struct State {
    std::promise<Status> promise;
    std::atomic<bool> is_done{false};
  };

  const std::shared_ptr<State> state_ = std::make_shared<State>();
  const std::shared_future<Status> future_ = state_->promise.get_future();
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SUPPORT_CALL_RESULT_H_
