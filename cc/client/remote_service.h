// RemoteService: an EmbeddingService spread over N servers.
//
// Each id lives on shard ShardOf(id, N), so the list's order is part of a
// table's settings. Bags go whole to one server, so with several these must be
// embedding workers: see TableRoutes. Every call fans out, one request a shard
// however many tables, and completes when all shards answered. A connection
// that breaks, or falls silent (stall.h), is made again with back-off and its
// requests are sent again (updates are recognised by (client, sequence)) until
// the call's deadline; then the call fails with an error that names the shard
// and the last reason. A server that refuses the client for good, or is
// refused, for a certificate, the token or the version, fails the calls at
// once.
//
// Thread-safe, as EmbeddingService says. Completions run on I/O threads.

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
  // How rows of lookups and gradients of updates travel. Whole rows (Export,
  // Assign) are always float32.
  WireDtype wire_dtype = WireDtype::kFloat32;
  // Null: connections are not encrypted. Else each server must show a
  // certificate for the name that its address has.
  std::shared_ptr<TlsContext> tls;
  // Proved to each server, which must prove that it has it too; empty: none.
  std::string auth_token;
  // What listens may be no server of ours, and wait for the client to go on.
  double handshake_seconds = 5;
  // Counts what travels, unless it is null.
  std::shared_ptr<WireCounters> counters;
  // Is told of a server that has not answered for `silence_seconds`, once, and
  // when it answers again. Must outlive the service; or null.
  EventLog* events = nullptr;
  double silence_seconds = 2;
};

// `addresses` are "host:port" (or "[v6]:port"). Connects on first use, so it
// fails only for an address that does not parse, or for an empty list.
Result<std::unique_ptr<EmbeddingService>> MakeRemoteService(
    const std::vector<std::string>& addresses,
    const RemoteServiceOptions& options);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_REMOTE_SERVICE_H_
