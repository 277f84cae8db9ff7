#include "cc/wire/event_loop.h"

#include <exception>
#include <thread>
#include <utility>

#include "cc/wire/asio.h"

namespace persia {

bool Mailbox::Post(std::function<void()> work) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (context_ == nullptr) return false;
  asio::post(*context_, std::move(work));
  return true;
}

bool Mailbox::Run(std::function<void()> work) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (context_ == nullptr) return false;
    if (!context_->get_executor().running_in_this_thread()) {
      asio::post(*context_, std::move(work));
      return true;
    }
  }
  work();
  return true;
}

void Mailbox::Close() {
  std::lock_guard<std::mutex> lock(mutex_);
  context_ = nullptr;
}

namespace {

class EventLoopImpl : public EventLoop {
 public:
  // The 1 hints that one thread runs the context, so that Asio omits some
  // locking.
  EventLoopImpl()
      : context_(1),
        mailbox_(std::make_shared<Mailbox>(&context_)),
        keep_running_(asio::make_work_guard(context_)),
        thread_([this] { RunThread(); }) {}

  ~EventLoopImpl() override { EventLoopImpl::Stop(); }

  void Stop() override {
    if (!thread_.joinable()) return;
    mailbox_->Close();
    keep_running_.reset();
    thread_.join();
  }

  asio::io_context& context() override { return context_; }
  const std::shared_ptr<Mailbox>& mailbox() const override { return mailbox_; }

 private:
  void RunThread() {
    for (;;) {
      try {
        context_.run();
        return;
      } catch (const std::exception&) {
        // A handler threw, which happens only if memory runs out. Its operation
        // fails at its deadline; the loop's other connections continue.
      }
    }
  }

  asio::io_context context_;
  const std::shared_ptr<Mailbox> mailbox_;
  asio::executor_work_guard<asio::io_context::executor_type> keep_running_;
  std::thread thread_;
};

}  // namespace

Result<std::unique_ptr<EventLoop>> EventLoop::Start() {
  try {
    return std::unique_ptr<EventLoop>(std::make_unique<EventLoopImpl>());
  } catch (const std::exception& error) {
    return Status(Code::kResourceExhausted,
                  Concat("cannot start an I/O thread: ", error.what()));
  }
}

Result<std::vector<std::unique_ptr<EventLoop>>> EventLoop::StartMany(
    int count) {
  std::vector<std::unique_ptr<EventLoop>> loops;
  for (int i = 0; i < count; ++i) {
    Result<std::unique_ptr<EventLoop>> loop = Start();
    if (!loop.ok()) return loop.status();
    loops.push_back(std::move(*loop));
  }
  return loops;
}

}  // namespace persia
