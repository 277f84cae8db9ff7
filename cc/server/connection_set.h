// ConnectionSet: the open connections of one event loop. Only the loop's thread
// may use it, except for the methods that say otherwise.

#ifndef PERSIA_CC_SERVER_CONNECTION_SET_H_
#define PERSIA_CC_SERVER_CONNECTION_SET_H_

#include <condition_variable>
#include <memory>
#include <mutex>
#include <unordered_set>

#include "cc/server/connection.h"
#include "cc/server/server_state.h"
#include "cc/wire/event_loop.h"

namespace persia {

class ConnectionSet {
 public:
  // `server` must outlive the set, and the set must outlive its connections.
  ConnectionSet(std::shared_ptr<Mailbox> mailbox, ServerState* server)
      : mailbox_(std::move(mailbox)), server_(server) {}

  // Serves a connection whose socket belongs to the mailbox's event loop, or
  // refuses it if the server has too many connections. May be called on any
  // thread, but always on the same thread for all sets of a server.
  void Add(Socket socket);

  // These three call Connection's Drain, Close or DropIfStalled for each
  // connection that was added before. They may be called on any thread.
  void DrainAll();
  void CloseAll();
  void DropStalled();

  // Blocks until all connections are closed, or until `deadline`. Returns
  // whether all are closed. Must not be called on the loop's thread.
  bool WaitUntilEmpty(Deadline deadline);

 private:
  void OnClosed(const std::shared_ptr<Connection>& connection);

  const std::shared_ptr<Mailbox> mailbox_;
  ServerState* const server_;
  std::unordered_set<std::shared_ptr<Connection>> open_;

  std::mutex mutex_;
  std::condition_variable empty_;
  // Counts all connections, including those not yet in open_. Guarded by
  // mutex_.
  size_t count_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVER_CONNECTION_SET_H_
