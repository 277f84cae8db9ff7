// ParallelFor: runs the parts of some work on several threads.

#ifndef PERSIA_CC_PIPELINE_PARALLEL_FOR_H_
#define PERSIA_CC_PIPELINE_PARALLEL_FOR_H_

#include <cstddef>
#include <functional>

#include "cc/pipeline/callback_threads.h"

namespace persia {

// Calls work(0) to work(count - 1), each once, on the calling thread and on
// some of `threads`. Blocks until all of these calls have returned, but never
// waits for a thread to start. If calls throw, the first exception is thrown
// again once all have ended. If `threads` is null, because the work is too
// little to be shared, the calling thread does it, up to the first exception.
void ParallelFor(CallbackThreads* threads, size_t count,
                 const std::function<void(size_t)>& work);

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_PARALLEL_FOR_H_
