// DoneAfter: joins the outcomes of several calls.

#ifndef PERSIA_CC_CLIENT_DONE_AFTER_H_
#define PERSIA_CC_CLIENT_DONE_AFTER_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

#include "cc/base/status.h"
#include "cc/service/embedding_service.h"

namespace persia {

// Calls `done` once, after `count` calls of the function that it returns, with
// the first error among their outcomes. That function is thread-safe.
inline DoneCallback DoneAfter(size_t count, DoneCallback done) {
  struct Joined {
    std::mutex mutex;
    size_t left;
    Status error;
  };
  auto joined = std::make_shared<Joined>();
  joined->left = count;
  return [joined, done = std::move(done)](const Status& status) {
    Status outcome;
    {
      std::lock_guard<std::mutex> lock(joined->mutex);
      if (joined->error.ok()) joined->error = status;
      if (--joined->left > 0) return;
      outcome = joined->error;
    }
    done(outcome);
  };
}

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_DONE_AFTER_H_
