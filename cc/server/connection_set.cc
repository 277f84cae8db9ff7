#include "cc/server/connection_set.h"

#include <utility>

namespace persia {

namespace {

constexpr EventKind kTooMany{"connections refused over the limit",
                             EventLevel::kWarning, 1};

// How many connections over the limit may be open at once to receive the reason
// of their refusal. A connection beyond these is just closed, so that refusals
// too use limited resources.
constexpr uint64_t kTurnedAwayAtOnce = 64;

Status TooMany(int limit) {
  return Status(Code::kResourceExhausted,
                Concat("this server has reached its limit of ", limit,
                       " connections: raise its --max-connections, or put "
                       "embedding workers (persia worker) between it and its "
                       "clients"));
}

}  // namespace

void ConnectionSet::Add(Socket socket) {
  const int limit = server_->options.max_connections;
  const uint64_t others = server_->connections;
  const bool is_full = others >= static_cast<uint64_t>(limit);
  if (others >= limit + kTurnedAwayAtOnce) {
    ++server_->refused_connections;
    TellEvent(server_->options.events, kTooMany, "refused ", PeerOf(socket),
              ": ", TooMany(limit).message());
    return;
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
  }
  ++server_->connections;
  auto connection = std::make_shared<Connection>(
      std::move(socket), mailbox_, server_,
      [this](const std::shared_ptr<Connection>& closed) { OnClosed(closed); });
  mailbox_->Post([this, connection, is_full, limit] {
    open_.insert(connection);
    is_full ? connection->TurnAway(TooMany(limit)) : connection->Start();
  });
}

void ConnectionSet::DrainAll() {
  mailbox_->Post([this] {
    const auto open = open_;  // Drain may erase its connection from open_.
    for (const auto& connection : open) connection->Drain();
  });
}

void ConnectionSet::CloseAll() {
  mailbox_->Post([this] {
    const auto open = open_;
    for (const auto& connection : open) connection->Close();
  });
}

void ConnectionSet::DropStalled() {
  mailbox_->Post([this] {
    const auto open = open_;
    for (const auto& connection : open) connection->DropIfStalled();
  });
}

bool ConnectionSet::WaitUntilEmpty(Deadline deadline) {
  std::unique_lock<std::mutex> lock(mutex_);
  return empty_.wait_until(lock, deadline, [&] { return count_ == 0; });
}

void ConnectionSet::OnClosed(const std::shared_ptr<Connection>& connection) {
  open_.erase(connection);
  --server_->connections;
  std::lock_guard<std::mutex> lock(mutex_);
  if (--count_ == 0) empty_.notify_all();
}

}  // namespace persia
