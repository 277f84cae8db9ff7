// EventLoop: a thread that runs the I/O of some connections. Objects that
// belong to a loop are used by its thread alone and need no lock.

#ifndef PERSIA_CC_WIRE_EVENT_LOOP_H_
#define PERSIA_CC_WIRE_EVENT_LOOP_H_

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "cc/base/status.h"

namespace boost::asio {
class io_context;
}  // namespace boost::asio

namespace persia {

// Posts work to a loop, and may outlive the loop. Thread-safe, never blocks.
class Mailbox {
 public:
  explicit Mailbox(boost::asio::io_context* context) : context_(context) {}

  // Queues `work`, which the loop's thread runs soon. Once the loop has been
  // stopped, drops `work` and returns false.
  bool Post(std::function<void()> work);

  // As Post, but runs `work` at once if the caller is the loop's thread.
  bool Run(std::function<void()> work);

  // After Close, Post and Run drop their work and return false.
  void Close();

 private:
  std::mutex mutex_;
  boost::asio::io_context* context_;  // Guarded by mutex_; null once closed.
};

class EventLoop {
 public:
  // Starts a loop. kResourceExhausted if the system has no thread or file
  // descriptor left.
  static Result<std::unique_ptr<EventLoop>> Start();
  static Result<std::vector<std::unique_ptr<EventLoop>>> StartMany(int count);

  virtual ~EventLoop() = default;

  // Refuses new work, waits until the accepted work has run and no operation is
  // pending on any socket or timer of the loop, then ends the thread. So close
  // the sockets and timers first. Blocks, and must not be called on the loop's
  // own thread. Idempotent; the destructor calls it.
  virtual void Stop() = 0;

  virtual boost::asio::io_context& context() = 0;
  virtual const std::shared_ptr<Mailbox>& mailbox() const = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_WIRE_EVENT_LOOP_H_
