// ConnectionSet: the open connections of one loop. Belongs to the loop, except
// for the methods that say otherwise.

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
  // `server` must outlive the set, and the set its connections.
  ConnectionSet(std::shared_ptr<Mailbox> mailbox, ServerState* server)
      : mailbox_(std::move(mailbox)), server_(server) {}

  // Serves a connection whose socket belongs to the loop, or refuses it if the
  // server has too many. Any thread, but always the same one for all sets of a
  // server.
  void Add(Socket socket);

  // Any thread. They apply to the connections that were added before.
  void DrainAll();
  void CloseAll();
  void DropStalled();

  // Blocks until all connections are closed, or until `deadline`. Any thread
  // but the loop's.
  bool WaitUntilEmpty(Deadline deadline);

 private:
  void OnClosed(const std::shared_ptr<Connection>& connection);

  const std::shared_ptr<Mailbox> mailbox_;
  ServerState* const server_;
  std::unordered_set<std::shared_ptr<Connection>> open_;

  std::mutex mutex_;
  std::condition_variable empty_;
  size_t count_ = 0;  // Guarded by mutex_. Includes those not yet in open_.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVER_CONNECTION_SET_H_
