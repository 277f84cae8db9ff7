#include "cc/pipeline/parallel_for.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>

namespace persia {
namespace {

// More threads would take processors from TensorFlow and from other work.
constexpr size_t kMostThreads = 4;

size_t MostThreads() {
  static const size_t most =
      std::clamp<size_t>(std::thread::hardware_concurrency(), 1, kMostThreads);
  return most;
}

// The calls that are left. A thread that starts late finds none.
class Calls {
 public:
  Calls(size_t count, const std::function<void(size_t)>& work)
      : count_(count), work_(work) {}

  void Run() {
    for (size_t i = next_++; i < count_; i = next_++) {
      try {
        work_(i);
      } catch (...) {
        std::lock_guard<std::mutex> lock(mutex_);
        if (first_ == nullptr) first_ = std::current_exception();
      }
      std::lock_guard<std::mutex> lock(mutex_);
      if (++ended_ == count_) all_ended_.notify_all();
    }
  }

  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    all_ended_.wait(lock, [this] { return ended_ == count_; });
    if (first_ != nullptr) std::rethrow_exception(first_);
  }

 private:
  const size_t count_;
  // Not used once all calls have ended.
  const std::function<void(size_t)>& work_;
  std::atomic<size_t> next_{0};

  std::mutex mutex_;
  std::condition_variable all_ended_;
  size_t ended_ = 0;          // Guarded by mutex_.
  std::exception_ptr first_;  // Guarded by mutex_.
};

}  // namespace

void ParallelFor(CallbackThreads* threads, size_t count,
                 const std::function<void(size_t)>& work) {
  if (threads == nullptr || count <= 1) {
    for (size_t i = 0; i < count; ++i) work(i);
    return;
  }
  const auto calls = std::make_shared<Calls>(count, work);
  const size_t helpers = std::min(MostThreads(), count);
  try {
    for (size_t t = 1; t < helpers; ++t)
      threads->Run([calls] { calls->Run(); });
  } catch (const std::system_error&) {
    // If a thread cannot be started, this thread does the work.
  } catch (const std::bad_alloc&) {
  }
  calls->Run();
  calls->Wait();
}

}  // namespace persia
