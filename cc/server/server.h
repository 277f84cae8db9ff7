// Server: offers an EmbeddingService over TCP.
//
// With TLS, each connection begins with that: who shows no certificate that the
// server's authorities have signed, or speaks no TLS, is told so, dropped and
// counted. With a token, a handshake (wire/handshake.h) comes next, by which
// both ends prove that they have it. Who does not is told so by one Error
// frame, dropped and counted; so is a connection over the limit. One that has
// not got so far is dropped after ServerOptions::handshake_seconds.
//
// Requests of one connection are answered in any order, each reply carrying
// its request's id; at most ServerOptions::max_in_flight of them are worked on
// at once, and ServerOptions::max_unwritten_bytes of replies wait for a peer
// that reads slowly, the next frame is read only then. The requests of all
// connections that are worked on and their replies take at most
// ServerOptions::max_unwritten_total_bytes: a request that there is no room for
// waits, and while one does, a peer that reads no replies is dropped. A
// connection that sends anything
// but a well-formed frame is dropped and counted; others do not notice. A peer
// of another protocol version, or whose request is too long, gets one Error
// frame that says so first.

#ifndef PERSIA_CC_SERVER_SERVER_H_
#define PERSIA_CC_SERVER_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "cc/base/clock.h"
#include "cc/base/event_log.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/tls/tls_context.h"
#include "cc/wire/frame.h"
#include "cc/wire/request_limits.h"

namespace persia {

struct ServerOptions {
  std::string host = "127.0.0.1";           // Name or address to bind.
  uint16_t port = 0;                        // 0: any free one.
  int io_threads = 2;                       // Each with its own event loop.
  uint64_t max_body_bytes = kMaxBodyBytes;  // Of requests and of replies.
  RequestLimits request;
  int max_in_flight = 64;  // Requests of one connection.
  // Of one connection: with more waiting for it, no further request is read. A
  // peer that asks and does not read holds so much memory and one reply.
  uint64_t max_unwritten_bytes = 64u << 20;
  // Of all connections: the requests that are worked on, with their rows, and
  // their replies: see ReplyBudget. One that would take more waits; and a
  // connection that reads less of its next reply than a MiB a second, after
  // `unread_seconds`, is then dropped. A request that takes more than half of
  // this is the only one of those that are long.
  uint64_t max_unwritten_total_bytes = 1u << 30;
  double unread_seconds = 10;
  double request_seconds = 60;  // Deadline handed to the service.
  // Null: connections are not encrypted, and show no certificate.
  std::shared_ptr<TlsContext> tls;
  std::string auth_token;  // Shared with every client; empty: none.
  double handshake_seconds = 10;
  // Without TLS or a token, only addresses of this machine are listened on,
  // unless it is said that anybody may come.
  bool insecure = false;
  int max_connections = 1024;
  // A connection keeps the memory of its requests for those that come; after so
  // long without any as large it gives back what is beyond kKeptBytes a
  // request.
  double memory_seconds = 10;
  // What all connections keep so; what is beyond is given back at once.
  uint64_t max_kept_total_bytes = 1u << 30;
  // Is told what an operator wants to know, and must outlive the server. Null:
  // it is told to nobody.
  EventLog* events = nullptr;
};

class Server {
 public:
  // Finishes as Stop does, at once.
  virtual ~Server() = default;

  virtual uint16_t port() const = 0;

  // Stops accepting, finishes the requests whose frame has been read, writes
  // their replies, closes every connection. Blocks until then or until
  // `deadline`, when what is left is cut. Idempotent; any thread but the
  // server's own.
  virtual void Stop(Deadline deadline) = 0;
};

// Binds and serves at once. `service` must outlive the server. kUnavailable,
// with the address and the reason, if the port cannot be bound;
// kInvalidArgument for an option out of range, or an address that other
// machines reach without TLS or a token.
Result<std::unique_ptr<Server>> StartServer(EmbeddingService* service,
                                            const ServerOptions& options);

}  // namespace persia

#endif  // PERSIA_CC_SERVER_SERVER_H_
