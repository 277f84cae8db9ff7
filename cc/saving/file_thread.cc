#include "cc/saving/file_thread.h"

#include <system_error>
#include <utility>

namespace persia {

FileThread::~FileThread() {
  std::deque<Call> calls;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
    calls.swap(calls_);
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  for (const Call& call : calls) {
    call.done(Status(Code::kCancelled, "the service ends"));
  }
}

void FileThread::Run(Deadline deadline, std::function<Status()> work,
                     std::function<void(Status)> done) {
  try {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { Serve(); });
    // Copies `done`, because the code below still needs it if push_back throws.
    calls_.push_back({deadline, std::move(work), done});
    changed_.notify_one();
    return;
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
  done(Status(Code::kResourceExhausted,
              "no memory or no thread for this checkpoint request: give this "
              "process more memory"));
}

void FileThread::Serve() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return ending_ || !calls_.empty(); });
    if (ending_) return;
    const Call call = std::move(calls_.front());
    calls_.pop_front();
    lock.unlock();
    const bool is_late = call.deadline < Clock::now();
    call.done(is_late ? Status(Code::kDeadlineExceeded,
                               "earlier checkpoint requests took too long")
                      : call.work());
    lock.lock();
  }
}

}  // namespace persia
