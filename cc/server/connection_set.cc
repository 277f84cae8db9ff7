#include "cc/server/connection_set.h"

#include <utility>

namespace persia {

void ConnectionSet::Add(Socket socket) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ++count_;
  }
  ++server_->connections;
  auto connection = std::make_shared<Connection>(
      std::move(socket), mailbox_, server_,
      [this](const std::shared_ptr<Connection>& closed) { OnClosed(closed); });
  mailbox_->Post([this, connection] {
    open_.insert(connection);
    connection->Start();
  });
}

void ConnectionSet::DrainAll() {
  mailbox_->Post([this] {
    const auto open = open_;  // Each may leave the set as it is told.
    for (const auto& connection : open) connection->Drain();
  });
}

void ConnectionSet::CloseAll() {
  mailbox_->Post([this] {
    const auto open = open_;
    for (const auto& connection : open) connection->Close();
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
