#include "cc/pipeline/callback_threads.h"

#include <utility>

namespace persia {

CallbackThreads::~CallbackThreads() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void CallbackThreads::Run(std::function<void()> callback) {
  std::lock_guard<std::mutex> lock(mutex_);
  callbacks_.push_back(std::move(callback));
  if (callbacks_.size() > idle_ && !stopping_) {
    threads_.emplace_back([this] { Work(); });
  }
  wake_.notify_one();
}

void CallbackThreads::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    ++idle_;
    wake_.wait(lock, [&] { return stopping_ || !callbacks_.empty(); });
    --idle_;
    if (callbacks_.empty()) return;
    std::function<void()> callback = std::move(callbacks_.front());
    callbacks_.pop_front();
    lock.unlock();
    callback();
    callback = nullptr;  // Destroys the captures while unlocked.
    lock.lock();
  }
}

}  // namespace persia
