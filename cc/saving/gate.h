// Gate: a lock that many threads may hold at once (inside), or one thread alone
// (closed).
//
// Thread-safe. A thread that closes the gate waits for the threads inside to
// leave, and no new thread can enter in the meantime. A std::shared_mutex would
// let readers enter ahead of a waiting writer.

#ifndef PERSIA_CC_SAVING_GATE_H_
#define PERSIA_CC_SAVING_GATE_H_

#include <condition_variable>
#include <mutex>

namespace persia {

class Gate {
 public:
  // The thread that creates a Pass is inside the gate for the lifetime of the
  // Pass. The constructor blocks while the gate is closed.
  class Pass {
   public:
    explicit Pass(Gate* gate) : gate_(*gate) { gate_.Enter(); }
    ~Pass() { gate_.Leave(); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

   private:
    Gate& gate_;
  };

  // Keeps the gate closed for its lifetime. The constructor blocks until no
  // thread is inside. Precondition: this thread is not inside.
  class Closed {
   public:
    explicit Closed(Gate* gate) : gate_(*gate) { gate_.Close(); }
    ~Closed() { gate_.Open(); }
    Closed(const Closed&) = delete;
    Closed& operator=(const Closed&) = delete;

   private:
    Gate& gate_;
  };

 private:
  void Enter() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return !closed_; });
    ++inside_;
  }

  void Leave() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (--inside_ == 0 && closed_) changed_.notify_all();
  }

  void Close() {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return !closed_; });
    closed_ = true;
    changed_.wait(lock, [&] { return inside_ == 0; });
  }

  void Open() {
    std::lock_guard<std::mutex> lock(mutex_);
    closed_ = false;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;       // Guarded by mutex_.
  bool closed_ = false;  // Guarded by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_SAVING_GATE_H_
