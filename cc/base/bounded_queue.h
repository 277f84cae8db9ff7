// BoundedQueue: a queue of limited capacity between producers and consumers.
//
// After Close(), Push fails, and Pop returns the items that are still queued,
// then nullopt. Close is final and may be called more than once.
//
// Thread-safe. Push blocks while the queue is full, Pop while it is empty;
// both return at once after Close (Pop once it has drained).

#ifndef PERSIA_CC_BASE_BOUNDED_QUEUE_H_
#define PERSIA_CC_BASE_BOUNDED_QUEUE_H_

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace persia {

template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  // Returns false, and drops `item`, if the queue is closed.
  bool Push(T item) {
    std::unique_lock<std::mutex> lock(mutex_);
    not_full_.wait(lock, [&] { return closed_ || items_.size() < capacity_; });
    if (closed_) return false;
    items_.push_back(std::move(item));
    not_empty_.notify_one();
    return true;
  }

  // Returns the oldest item, or nullopt once the queue is closed and empty.
  std::optional<T> Pop() {
    std::unique_lock<std::mutex> lock(mutex_);
    not_empty_.wait(lock, [&] { return closed_ || !items_.empty(); });
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    not_full_.notify_one();
    return item;
  }

  void Close() {
    std::lock_guard<std::mutex> lock(mutex_);
    closed_ = true;
    not_full_.notify_all();
    not_empty_.notify_all();
  }

 private:
  const size_t capacity_;
  std::mutex mutex_;
  std::condition_variable not_full_;
  std::condition_variable not_empty_;
  std::deque<T> items_;  // Guarded by mutex_.
  bool closed_ = false;  // Guarded by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_BASE_BOUNDED_QUEUE_H_
