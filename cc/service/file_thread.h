// FileThread: a thread for calls that wait for files, so that the threads that
// answer lookups never do: an object store may take minutes to refuse a
// request.
//
// Thread-safe. Run never blocks on a call. The destructor waits for the call in
// progress, and completes the queued ones with kCancelled.

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

  // Queues `work`, which runs on the thread after the calls queued before it,
  // and then `done` with its outcome, also on the thread. If the deadline
  // passes while it is queued, `done` gets kDeadlineExceeded without the work.
  // If the call cannot be queued, as the thread cannot be started or there is
  // no memory, `done` gets kResourceExhausted before Run returns.
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
