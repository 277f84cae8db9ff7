// Server: offers an EmbeddingService over TCP.
//
// With TLS, each connection starts with a TLS handshake. With a token, a second
// handshake (wire/handshake.h) follows, in which both ends prove that they have
// the token. The server refuses a client that shows no certificate signed by
// the server's authorities, that does not speak TLS or that does not have the
// token. It also refuses connections over ServerOptions::max_connections. To
// refuse, it sends the peer the reason, drops the connection and counts it. A
// client that has not completed both handshakes within
// ServerOptions::handshake_seconds is dropped.
//
// The requests of one connection are answered in any order; each reply carries
// its request's id. Back-pressure: the server does not read the next frame of a
// connection while ServerOptions::max_in_flight of its requests are in flight,
// or while more than ServerOptions::max_unwritten_bytes of its replies wait for
// a slow peer. The requests in progress of all connections, with their replies,
// take at most ServerOptions::max_unwritten_total_bytes: a request for which
// there is no room waits, and while a request waits, peers that do not read
// their replies are dropped.
//
// A connection that sends anything but a well-formed frame is dropped and
// counted; other connections are not affected. A peer that uses another
// protocol version, or sends a request that is too long, first receives one
// Error frame with that reason.

#ifndef PERSIA_CC_SERVER_SERVER_H_
#define PERSIA_CC_SERVER_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/clock.h"
#include "cc/base/event_log.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/tls/tls_context.h"
#include "cc/wire/frame.h"
#include "cc/wire/request_limits.h"

namespace persia {

struct ServerOptions {
  std::string host = "127.0.0.1";  // Name or address to bind.
  uint16_t port = 0;               // 0: any free port.
  int io_threads = 2;              // Each has its own event loop.
  // The maximum size of a request or a reply.
  uint64_t max_body_bytes = kMaxBodyBytes;
  RequestLimits request;
  int max_in_flight = 64;  // The most requests in flight per connection.
  // Limit per connection: while more bytes of replies than this wait to be
  // written, the server reads no further request. A peer that sends requests
  // without reading replies thus occupies at most this much memory, plus the
  // replies to the requests that are already in flight.
  uint64_t max_unwritten_bytes = 64u << 20;
  // Limit on the memory that the requests in progress of all connections take,
  // with their rows and replies; see ReplyBudget. A request that would exceed
  // the limit waits. While a request waits, the server drops a connection that
  // takes too long to read its next reply: more than `unread_seconds`, plus one
  // second per MiB that it has read of this reply. A request that takes more
  // than half of the limit waits until no other long request is in progress.
  uint64_t max_unwritten_total_bytes = 1u << 30;
  double unread_seconds = 10;
  double request_seconds = 60;  // Time that the service has for a request.
  // Null: no TLS, so neither encryption nor certificates.
  std::shared_ptr<TlsContext> tls;
  std::string auth_token;  // Shared with every client; empty: no token.
  double handshake_seconds = 10;
  // Without TLS and without a token, the server listens only on loopback
  // addresses, unless this is true: then any client may connect.
  bool insecure = false;
  int max_connections = 1024;
  // A connection retains the memory of its requests for later requests. Memory
  // that no request has needed for this long is freed, except for small
  // buffers.
  double memory_seconds = 10;
  // The most memory that all connections together retain for later requests;
  // any excess is freed at once.
  uint64_t max_kept_total_bytes = 1u << 30;
  // Receives the events that an operator wants to know; must outlive the
  // server. Null: the events are discarded.
  EventLog* events = nullptr;
};

// Returns kInvalidArgument, with the option, its rule and its value, if an
// option is out of range. Does not block, so that a program can check the
// options before it opens a service, which may take long.
Status CheckOptions(const ServerOptions& options);

class Server {
 public:
  // Stops the server at once, like Stop with a deadline that has passed.
  virtual ~Server() = default;

  virtual uint16_t port() const = 0;

  // Adds what the server counts to the statistics of its service, as the reply
  // to a Stats request has them. Thread-safe.
  virtual void AddStats(std::vector<ServiceStats>* processes) const = 0;

  // Stops accepting connections, finishes the requests whose frame has been
  // read, writes their replies, and closes every connection. Blocks until all
  // connections are closed; at `deadline`, the remaining connections are closed
  // at once. Idempotent. Must not be called on a thread of the server.
  virtual void Stop(Deadline deadline) = 0;
};

// Binds and starts to serve. `service` must outlive the server. kUnavailable,
// with the address and the reason, if the port cannot be bound;
// kInvalidArgument if CheckOptions fails, or if other machines could connect to
// the address without TLS or a token (see `insecure`).
Result<std::unique_ptr<Server>> StartServer(EmbeddingService* service,
                                            const ServerOptions& options);

}  // namespace persia

#endif  // PERSIA_CC_SERVER_SERVER_H_
