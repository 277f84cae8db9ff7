// RemoteService: an EmbeddingService spread over N servers.
//
// Each id's row is on shard ShardOf(id, N), so the order of the addresses is
// part of a table's settings. A table's bags all go to one server, so if there
// are several servers, they must be embedding workers: see TableRoutes. Every
// call sends one request per shard, however many tables it names, and completes
// when all shards have answered.
//
// If a connection breaks or falls silent (stall.h), the client reconnects with
// back-off and sends its requests again until the call's deadline; shards
// deduplicate updates by (client, sequence). At the deadline the call fails
// with an error that names the shard and the last reason. If the server refuses
// the client, or the client the server, because of the certificate, the token
// or the protocol version, calls fail at once.
//
// Thread-safe, as EmbeddingService requires. Completions run on I/O threads.

#ifndef PERSIA_CC_CLIENT_REMOTE_SERVICE_H_
#define PERSIA_CC_CLIENT_REMOTE_SERVICE_H_

#include <memory>
#include <string>
#include <vector>

#include "cc/base/event_log.h"
#include "cc/base/status.h"
#include "cc/client/wire_counters.h"
#include "cc/service/embedding_service.h"
#include "cc/tls/tls_context.h"
#include "cc/wire/wire_dtype.h"

namespace persia {

struct RemoteServiceOptions {
  int io_threads = 1;
  double first_backoff_seconds = 0.02;
  double max_backoff_seconds = 1.0;
  // The dtype of looked-up rows and gradients on the wire. Whole rows (Export,
  // Assign) are always float32.
  WireDtype wire_dtype = WireDtype::kFloat32;
  // If null, connections are not encrypted. Otherwise each server must present
  // a certificate for the host name in its address.
  std::shared_ptr<TlsContext> tls;
  // Client and server prove to each other that they have this token. Empty: no
  // token.
  std::string auth_token;
  // The timeout of TLS and the token's handshake: a peer that is not a server
  // of this library may never answer.
  double handshake_seconds = 5;
  // Counts traffic, unless it is null.
  std::shared_ptr<WireCounters> counters;
  // Receives an event when a server has not answered for `silence_seconds`, and
  // another when it answers again. Must outlive the service. May be null.
  EventLog* events = nullptr;
  double silence_seconds = 2;
};

// `addresses` are "host:port" (or "[v6]:port"). Connects on first use, so it
// fails only for invalid addresses or options, an empty list, or if it cannot
// start its I/O threads.
Result<std::unique_ptr<EmbeddingService>> MakeRemoteService(
    const std::vector<std::string>& addresses,
    const RemoteServiceOptions& options);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_REMOTE_SERVICE_H_
