// Server: offers an EmbeddingService over TCP.
//
// With a token, each connection begins with a handshake (wire/handshake.h) by
// which both ends prove that they have it. Who does not is told so by one Error
// frame, dropped and counted; so is a connection over the limit. One that stays
// silent is dropped after ServerOptions::handshake_seconds.
//
// Requests of one connection are answered in any order, each reply carrying
// its request's id; at most ServerOptions::max_in_flight of them are worked on
// at once, and ServerOptions::max_unwritten_bytes of replies wait for a peer
// that reads slowly, the next frame is read only then. A connection that sends
// anything but a well-formed frame is dropped and counted; others do not
// notice. A peer of another protocol version, or whose request is too long,
// gets one Error frame that says so first.

#ifndef PERSIA_CC_SERVER_SERVER_H_
#define PERSIA_CC_SERVER_SERVER_H_

#include <cstdint>
#include <memory>
#include <string>

#include "cc/base/clock.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/frame.h"

namespace persia {

struct ServerOptions {
  std::string host = "127.0.0.1";  // Name or address to bind.
  uint16_t port = 0;               // 0: any free one.
  int io_threads = 2;              // Each with its own event loop.
  uint64_t max_body_bytes = kMaxBodyBytes;
  int max_in_flight = 64;  // Requests of one connection.
  // Of one connection: with more waiting for it, no further request is read. A
  // peer that asks and does not read holds so much memory and one reply.
  uint64_t max_unwritten_bytes = 64u << 20;
  double request_seconds = 60;  // Deadline handed to the service.
  std::string auth_token;       // Shared with every client; empty: none.
  double handshake_seconds = 10;
  // Without a token, only addresses of this machine are listened on, unless it
  // is said that anybody may come.
  bool insecure = false;
  int max_connections = 1024;
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
// machines reach without a token.
Result<std::unique_ptr<Server>> StartServer(EmbeddingService* service,
                                            const ServerOptions& options);

}  // namespace persia

#endif  // PERSIA_CC_SERVER_SERVER_H_
