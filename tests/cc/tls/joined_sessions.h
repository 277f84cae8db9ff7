// JoinedSessions: a client's session, a server's session, and functions that
// carry bytes between them.

#ifndef PERSIA_TESTS_CC_TLS_JOINED_SESSIONS_H_
#define PERSIA_TESTS_CC_TLS_JOINED_SESSIONS_H_

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "cc/tls/tls_context.h"

namespace persia {

// Moves what fits; returns how much.
inline size_t Carry(TlsSession* from, TlsSession* to) {
  size_t carried = 0;
  for (;;) {
    const ConstBytes output = from->Output();
    const MutableBytes room = to->InputRoom();
    const size_t bytes = std::min(output.size(), room.size());
    if (bytes == 0) return carried;
    std::copy_n(output.begin(), bytes, room.begin());
    to->AddInput(bytes);
    from->DropOutput(bytes);
    carried += bytes;
  }
}

struct JoinedSessions {
  JoinedSessions(TlsContext* of_client, TlsContext* of_server,
                 const std::string& host = "127.0.0.1")
      : client(std::move(*of_client->NewClientSession(host))),
        server(std::move(*of_server->NewServerSession())) {}

  // Runs both handshakes until both have succeeded or failed.
  void ShakeHands() {
    Result<bool> client_done = false;
    Result<bool> server_done = false;
    do {
      if (client_done.ok()) client_done = client->Handshake();
      Carry(client.get(), server.get());
      if (server_done.ok()) server_done = server->Handshake();
    } while (Carry(server.get(), client.get()) > 0);
    of_client = client_done.status();
    of_server = server_done.status();
    is_done =
        client_done.ok() && server_done.ok() && *client_done && *server_done;
  }

  const std::unique_ptr<TlsSession> client;
  const std::unique_ptr<TlsSession> server;
  bool is_done = false;
  Status of_client;
  Status of_server;
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_TLS_JOINED_SESSIONS_H_
