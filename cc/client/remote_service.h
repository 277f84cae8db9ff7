// RemoteService: an EmbeddingService spread over N servers.
//
// Each id's row is on the owner of its slot (cc/topology). If the servers are
// shards, the client finds their cluster, founds one if it creates a table, and
// routes a request anew whose slots have moved; if they are embedding workers,
// it spreads ids over them. All bags of a table go to one server, which must
// reach all rows; so several servers accept bags only if they are embedding
// workers (see TableRoutes). A call sends at most one request to each shard,
// however many tables it names, and completes when all of these shards have
// answered.
//
// If a connection breaks or falls silent (stall.h), the client reconnects with
// back-off and sends its requests again until the call's deadline; shards
// deduplicate updates by (client, sequence). At the deadline the call fails
// with an error that names the shard and the reason of its last failure. If the
// client or the server does not accept the other's certificate, token or
// protocol version, calls fail at once.
//
// MoveShard changes a server's address, under which the client reconnects and
// sends unanswered requests again. Host names are resolved at each connection,
// so a server that keeps its name needs no MoveShard.
//
// A RemoteService is thread-safe, as EmbeddingService requires. Completion
// callbacks run on I/O threads.

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
  // Whether the client finds the cluster that the servers belong to, and sends
  // requests to all its shards. Otherwise it sends them to the given servers
  // alone, as if these were no shards of a cluster.
  bool finds_cluster = true;
  double first_backoff_seconds = 0.02;
  double max_backoff_seconds = 1.0;
  // The dtype of looked-up rows and gradients on the wire. Whole rows (Export,
  // Assign) are always float32.
  WireDtype wire_dtype = WireDtype::kFloat32;
  // If null, connections are not encrypted. Otherwise each server must present
  // a certificate for the host name in its address.
  std::shared_ptr<TlsContext> tls;
  // The secret shared with the servers: client and server prove to each other
  // that they know it. If it is empty, they connect without this proof.
  std::string auth_token;
  // The timeout of the TLS and token handshakes. It is needed because a peer
  // that is not a server of this library may never answer.
  double handshake_seconds = 5;
  // Counts this client's traffic. May be null.
  std::shared_ptr<WireCounters> counters;
  // Receives an event when a server has not answered for `silence_seconds`, and
  // another when it answers again. Must outlive the service. May be null.
  EventLog* events = nullptr;
  double silence_seconds = 2;
};

// Creates a client of the servers at `addresses`, each "host:port" or
// "[v6]:port". The client connects on first use, so this function fails only
// for invalid addresses or options, for an empty list, or if I/O threads cannot
// be started.
Result<std::unique_ptr<EmbeddingService>> MakeRemoteService(
    const std::vector<std::string>& addresses,
    const RemoteServiceOptions& options);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_REMOTE_SERVICE_H_
