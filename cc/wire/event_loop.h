// EventLoop: a thread that runs the I/O of some connections. What belongs to a
// loop is touched by its thread alone and needs no lock.

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

// The way into a loop, for those who may outlive it. Thread-safe, never
// blocks.
class Mailbox {
 public:
  explicit Mailbox(boost::asio::io_context* context) : context_(context) {}

  // Has the loop's thread run `work` soon. False, and `work` is dropped, once
  // the loop has been stopped.
  bool Post(std::function<void()> work);

  // The same, but runs it at once if the caller is the loop's thread.
  bool Run(std::function<void()> work);

  // What Post and Run do from now on is nothing.
  void Close();

 private:
  std::mutex mutex_;
  boost::asio::io_context* context_;  // Guarded by mutex_; null once closed.
};

class EventLoop {
 public:
  // kResourceExhausted if the system has no thread or descriptor left.
  static Result<std::unique_ptr<EventLoop>> Start();
  static Result<std::vector<std::unique_ptr<EventLoop>>> StartMany(int count);

  virtual ~EventLoop() = default;

  // Refuses new work, waits until what was accepted has run and every socket
  // and timer of the loop is at rest, and ends the thread. So close them
  // first. Idempotent, and done by the destructor; not for the loop's own
  // thread.
  virtual void Stop() = 0;

  virtual boost::asio::io_context& context() = 0;
  virtual const std::shared_ptr<Mailbox>& mailbox() const = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_WIRE_EVENT_LOOP_H_
