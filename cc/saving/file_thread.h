// FileThread: a thread that runs the calls that wait for files. The threads
// that answer lookups must not wait for files, because an object store may take
// minutes to refuse a request.
//
// Thread-safe. Run does not wait for any call. The destructor waits for the
// call in progress, and completes the queued calls with kCancelled.

#ifndef PERSIA_CC_SAVING_FILE_THREAD_H_
#define PERSIA_CC_SAVING_FILE_THREAD_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "cc/base/clock.h"
#include "cc/base/status.h"

namespace persia {

class FileThread {
 public:
  FileThread() = default;
  ~FileThread();
  FileThread(const FileThread&) = delete;
  FileThread& operator=(const FileThread&) = delete;

  // Queues `work`. The thread runs `work` after all calls that were queued
  // earlier, and then calls `done` with the outcome. If the deadline passes
  // before `work` begins, `work` does not run, and `done` gets
  // kDeadlineExceeded. If there is no memory or no thread for the call, Run
  // itself calls `done` with kResourceExhausted.
  void Run(Deadline deadline, std::function<Status()> work,
           std::function<void(Status)> done);

 private:
  struct Call {
    Deadline deadline;
    std::function<Status()> work;
    std::function<void(Status)> done;
  };

  void Serve();

  std::mutex mutex_;
  std::condition_variable changed_;
  // All below are guarded by mutex_.
  std::deque<Call> calls_;
  bool ending_ = false;
  std::thread thread_;  // Started by the first call.
};

}  // namespace persia

#endif  // PERSIA_CC_SAVING_FILE_THREAD_H_
