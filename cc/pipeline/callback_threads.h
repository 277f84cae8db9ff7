// CallbackThreads: runs callbacks that may do anything, TensorFlow work
// included, so that I/O threads need not.
//
// There is always a thread for a callback: one that waits for another callback
// never keeps that one from running. Idle threads are kept for reuse.
//
// Thread-safe. Run never blocks on a callback. The destructor runs what was
// handed in and joins, so it must not run in a callback, and nothing may be
// handed in after it began.

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
  // All below: guarded by mutex_.
  std::deque<std::function<void()>> callbacks_;
  std::vector<std::thread> threads_;  // Grows only.
  size_t idle_ = 0;
  bool stopping_ = false;
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_CALLBACK_THREADS_H_
