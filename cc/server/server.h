// Server: offers an EmbeddingService over TCP.
//
// With TLS, each connection starts with a TLS handshake: a client that shows no
// certificate signed by the server's authorities, or does not speak TLS, is
// told so, dropped and counted. With a token, a handshake (wire/handshake.h)
// follows, in which both ends prove that they have it. A client without the
// token, or a connection over the limit, gets one Error frame that says so, is
// dropped and counted. A client that has not completed both within
// ServerOptions::handshake_seconds is dropped.
//
// The requests of one connection are answered in any order; each reply carries
// its request's id. Back-pressure: the next frame is not read while
// ServerOptions::max_in_flight of its requests are in flight, or more than
// ServerOptions::max_unwritten_bytes of its replies wait for a peer that reads
// slowly. The requests in progress of all connections, with their replies, take
// at most ServerOptions::max_unwritten_total_bytes: a request for which there
// is no room waits, and while one waits, peers that do not read their replies
// are dropped.
//
// A connection that sends anything but a well-formed frame is dropped and
// counted; others are not affected. A peer of another protocol version, or
// whose request is too long, first gets one Error frame that says so.

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
  int io_threads = 2;                       // Each has its own event loop.
  uint64_t max_body_bytes = kMaxBodyBytes;  // Of requests and of replies.
  RequestLimits request;
  int max_in_flight = 64;  // Per connection.
  // Per connection: while more bytes of replies wait to be written, no further
  // request is read. A peer that sends requests without reading replies
  // occupies at most this much memory and one more reply.
  uint64_t max_unwritten_bytes = 64u << 20;
  // For all connections: the memory of requests in progress, with their rows,
  // and of their replies; see ReplyBudget. A request that would exceed it
  // waits; meanwhile a connection that, after `unread_seconds`, reads its next
  // reply at less than 1 MiB per second is dropped. A request that takes more
  // than half of this is the only long request in progress.
  uint64_t max_unwritten_total_bytes = 1u << 30;
  double unread_seconds = 10;
  double request_seconds = 60;  // Deadline handed to the service.
  // Null: no TLS, so neither encryption nor certificates.
  std::shared_ptr<TlsContext> tls;
  std::string auth_token;  // Shared with every client; empty: no token.
  double handshake_seconds = 10;
  // Without TLS and without a token, the server listens only on loopback
  // addresses, unless this is true: then any client may connect.
  bool insecure = false;
  int max_connections = 1024;
  // A connection retains the memory of its requests for later ones. If none as
  // large comes for this long, it frees what exceeds kKeptBytes per call.
  double memory_seconds = 10;
  // The most that all connections retain; any excess is freed at once.
  uint64_t max_kept_total_bytes = 1u << 30;
  // Receives the events that an operator wants to know; must outlive the
  // server. Null: they are discarded.
  EventLog* events = nullptr;
};

class Server {
 public:
  // As Stop, with a deadline that has passed.
  virtual ~Server() = default;

  virtual uint16_t port() const = 0;

  // Stops accepting, finishes the requests whose frame has been read, writes
  // their replies, and closes every connection. Blocks until then or until
  // `deadline`, when the remaining connections are cut. Idempotent; any thread
  // but the server's own.
  virtual void Stop(Deadline deadline) = 0;
};

// Binds and starts to serve. `service` must outlive the server. kUnavailable,
// with the address and the reason, if the port cannot be bound;
// kInvalidArgument for an option out of range, or for an address that other
// machines can reach without TLS or a token (see `insecure`).
Result<std::unique_ptr<Server>> StartServer(EmbeddingService* service,
                                            const ServerOptions& options);

}  // namespace persia

#endif  // PERSIA_CC_SERVER_SERVER_H_
