// CallbackThreads: threads for callbacks that may block or run TensorFlow work,
// which I/O threads must not do.
//
// Every callback gets a thread immediately, so a callback that waits for
// another callback never prevents the other from running. Idle threads are
// retained for reuse.
//
// CallbackThreads is thread-safe. Run never blocks on a callback. The
// destructor runs all queued callbacks and joins the threads, so it must not
// run in a callback. Once it has begun, only callbacks may call Run, and must
// not wait for the new callback, which gets no thread of its own.

#ifndef PERSIA_CC_PIPELINE_CALLBACK_THREADS_H_
#define PERSIA_CC_PIPELINE_CALLBACK_THREADS_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace persia {

class CallbackThreads {
 public:
  ~CallbackThreads();

  void Run(std::function<void()> callback);

 private:
  void Work();

  std::mutex mutex_;
  std::condition_variable wake_;
  // All fields below are guarded by mutex_.
  std::deque<std::function<void()>> callbacks_;
  std::vector<std::thread> threads_;  // Threads end only in the destructor.
  size_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_CALLBACK_THREADS_H_
