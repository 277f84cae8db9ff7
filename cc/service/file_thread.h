// FileThread: a thread for calls that wait for files, so that those that
// answer lookups wait for none: a bucket may take minutes to say no.
//
// Thread-safe. Run never waits for a call. The destructor waits for the one
// that is being worked on, and ends the others with kCancelled.

#ifndef PERSIA_CC_SERVICE_FILE_THREAD_H_
#define PERSIA_CC_SERVICE_FILE_THREAD_H_

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

  // Works, after what was given before, and calls `done` with the outcome, both
  // on the thread. kDeadlineExceeded, without the work, for one whose turn
  // comes too late; kResourceExhausted, at once, if the thread cannot be
  // started.
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

#endif  // PERSIA_CC_SERVICE_FILE_THREAD_H_
