// SpinMutex: a mutex for critical sections of a few microseconds. A thread that
// waits spins for about that long before it lets the kernel put it to sleep.

#ifndef PERSIA_CC_STORE_SPIN_MUTEX_H_
#define PERSIA_CC_STORE_SPIN_MUTEX_H_

#include <mutex>

namespace persia {

class SpinMutex {
 public:
  void lock() {
    constexpr int kTries = 200;
    for (int i = 0; i < kTries; ++i) {
      if (mutex_.try_lock()) return;
      Pause();
    }
    mutex_.lock();
  }

  void unlock() { mutex_.unlock(); }

 private:
  static void Pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }

  std::mutex mutex_;
};

}  // namespace persia

#endif  // PERSIA_CC_STORE_SPIN_MUTEX_H_
