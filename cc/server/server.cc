#include "cc/server/server.h"

#include <future>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "cc/server/connection_set.h"
#include "cc/server/listener.h"
#include "cc/server/server_state.h"
#include "cc/server/server_stats.h"
#include "cc/wire/address.h"
#include "cc/wire/event_loop.h"

namespace persia {
namespace {

class ServerImpl : public Server {
 public:
  ServerImpl(EmbeddingService* service, const ServerOptions& options,
             std::vector<std::unique_ptr<EventLoop>> loops,
             std::shared_ptr<Listener> listener)
      : loops_(std::move(loops)), listener_(std::move(listener)) {
    state_.service = service;
    state_.options = options;
    state_.budget =
        std::make_shared<ReplyBudget>(options.max_unwritten_total_bytes);
    state_.address = Address{options.host, listener_->port()}.ToString();
    for (const auto& loop : loops_) {
      sets_.push_back(
          std::make_unique<ConnectionSet>(loop->mailbox(), &state_));
    }
    state_.drop_stalled = [this] { DropStalled(); };
  }

  ~ServerImpl() override { Stop(Clock::now()); }

  void Start() {
    loops_.front()->mailbox()->Post([this] {
      listener_->Start([this] { return loops_[NextLoop()].get(); },
                       [this](EventLoop* loop, Socket socket) {
                         SetOf(loop)->Add(std::move(socket));
                       });
    });
  }

  uint16_t port() const override { return listener_->port(); }

  void AddStats(std::vector<ServiceStats>* processes) const override {
    AddServerStats(state_, processes);
  }

  void Stop(Deadline deadline) override {
    std::lock_guard<std::mutex> lock(stop_mutex_);
    if (stopped_) return;
    stopped_ = true;
    CloseListener();
    // The listener is closed, so no connection is added to the sets from here
    // on.
    for (const auto& set : sets_) set->DrainAll();
    for (const auto& set : sets_) set->WaitUntilEmpty(deadline);
    for (const auto& set : sets_) set->CloseAll();
    for (const auto& set : sets_) set->WaitUntilEmpty(Deadline::max());
    for (const auto& loop : loops_) loop->Stop();
  }

 private:
  // Only the listener's loop calls this, so next_loop_ needs no lock.
  size_t NextLoop() { return next_loop_++ % loops_.size(); }

  ConnectionSet* SetOf(const EventLoop* loop) {
    size_t i = 0;
    while (loops_[i].get() != loop) ++i;
    return sets_[i].get();
  }

  // Drops all stalled connections. May be called on any thread. Each call
  // checks every connection, so the rate of calls is limited.
  void DropStalled() {
    const Deadline now = Clock::now();
    {
      std::lock_guard<std::mutex> lock(drop_mutex_);
      if (now < next_drop_) return;
      next_drop_ = DeadlineAfter(state_.options.unread_seconds / kDropsASpan);
    }
    for (const auto& set : sets_) set->DropStalled();
  }

  void CloseListener() {
    std::promise<void> closed;
    loops_.front()->mailbox()->Post([&] {
      listener_->Close();
      closed.set_value();
    });
    closed.get_future().wait();
  }

  static constexpr double kDropsASpan = 10;

  ServerState state_;
  // Sockets must be destroyed before their loop, so the loops are declared
  // first.
  const std::vector<std::unique_ptr<EventLoop>> loops_;
  const std::shared_ptr<Listener> listener_;
  std::vector<std::unique_ptr<ConnectionSet>> sets_;  // One per loop.
  size_t next_loop_ = 0;
  std::mutex drop_mutex_;
  Deadline next_drop_;  // Guarded by drop_mutex_.
  std::mutex stop_mutex_;
  bool stopped_ = false;  // Guarded by stop_mutex_.
};

}  // namespace

Status CheckOptions(const ServerOptions& options) {
  if (options.io_threads < 1) {
    return InvalidArgument("io_threads must be at least 1, received ",
                           options.io_threads);
  }
  if (options.max_in_flight < 1) {
    return InvalidArgument("max_in_flight must be at least 1, received ",
                           options.max_in_flight);
  }
  if (options.request_seconds <= 0) {
    return InvalidArgument("request_seconds must be above 0, received ",
                           options.request_seconds);
  }
  if (!(options.handshake_seconds > 0)) {
    return InvalidArgument("handshake_seconds must be above 0, received ",
                           options.handshake_seconds);
  }
  if (options.max_body_bytes < 1 || options.max_body_bytes > kMaxBodyBytes) {
    return InvalidArgument("max_message_bytes must be from 1 to ",
                           kMaxBodyBytes, ", received ",
                           options.max_body_bytes);
  }
  if (!(options.memory_seconds > 0)) {
    return InvalidArgument("memory_seconds must be above 0, received ",
                           options.memory_seconds);
  }
  if (!(options.unread_seconds > 0)) {
    return InvalidArgument("unread_seconds must be above 0, received ",
                           options.unread_seconds);
  }
  if (options.max_connections < 1) {
    return InvalidArgument("max_connections must be at least 1, received ",
                           options.max_connections);
  }
  return Status();
}

namespace {

Listener::Reach ReachOf(const ServerOptions& options) {
  return options.tls == nullptr && options.auth_token.empty() &&
                 !options.insecure
             ? Listener::Reach::kThisMachine
             : Listener::Reach::kAnywhere;
}

}  // namespace

Result<std::unique_ptr<Server>> StartServer(EmbeddingService* service,
                                            const ServerOptions& options) {
  PERSIA_RETURN_IF_ERROR(CheckOptions(options));
  auto loops = EventLoop::StartMany(options.io_threads);
  if (!loops.ok()) return loops.status();
  auto listener =
      Listener::Bind(loops->front().get(), Address{options.host, options.port},
                     ReachOf(options));
  if (!listener.ok()) return listener.status();
  auto server = std::make_unique<ServerImpl>(service, options,
                                             std::move(*loops), *listener);
  server->Start();
  return std::unique_ptr<Server>(std::move(server));
}

}  // namespace persia
