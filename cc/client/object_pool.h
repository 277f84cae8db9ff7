// ObjectPool: lends objects that retain their memory between uses.
//
// A pool is thread-safe. It must outlive the objects that it lends.

#ifndef PERSIA_CC_CLIENT_OBJECT_POOL_H_
#define PERSIA_CC_CLIENT_OBJECT_POOL_H_

#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace persia {

template <typename T>
class ObjectPool {
 public:
  struct Return {
    ObjectPool* pool;
    void operator()(T* object) const { pool->Take(std::unique_ptr<T>(object)); }
  };
  using Lent = std::unique_ptr<T, Return>;

  // Retains at most `max_idle` objects that are not in use.
  explicit ObjectPool(size_t max_idle) : max_idle_(max_idle) {}

  // Returns an idle object in the state in which its last user left it, or else
  // a new object.
  Lent Lend() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty()) return Lent(new T(), Return{this});
    Lent object(idle_.back().release(), Return{this});
    idle_.pop_back();
    return object;
  }

 private:
  void Take(std::unique_ptr<T> object) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.size() < max_idle_) idle_.push_back(std::move(object));
  }

  const size_t max_idle_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_;  // Guarded by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_OBJECT_POOL_H_
