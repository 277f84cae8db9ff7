// DoneOfAll: one callback for the end of several calls.

#ifndef PERSIA_CC_PIPELINE_DONE_OF_ALL_H_
#define PERSIA_CC_PIPELINE_DONE_OF_ALL_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

#include "cc/base/status.h"
#include "cc/service/embedding_service.h"

namespace persia {

// Returns a callback that must be called `count` times, on any threads. The
// last of these calls calls `done` with the first error, or with OK.
inline DoneCallback DoneOfAll(size_t count, DoneCallback done) {
  struct Calls {
    std::mutex mutex;
    size_t left;  // Guarded by `mutex`, as is `first`.
    Status first;
    DoneCallback done;
  };
  auto calls = std::make_shared<Calls>();
  calls->left = count;
  calls->done = std::move(done);
  return [calls](const Status& status) {
    {
      std::lock_guard<std::mutex> lock(calls->mutex);
      if (calls->first.ok()) calls->first = status;
      if (--calls->left > 0) return;
    }
    // Released before `done`, which may destroy what its captures refer to.
    const DoneCallback last = std::move(calls->done);
    last(calls->first);
  };
}

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_DONE_OF_ALL_H_
