#include "cc/server/server.h"

#include <memory>
#include <utility>

#include "cc/capi/addresses.h"
#include "cc/capi/error.h"
#include "cc/capi/events.h"
#include "cc/capi/persia.h"
#include "cc/capi/stats.h"
#include "cc/capi/text.h"
#include "cc/capi/timeout.h"
#include "cc/capi/tls.h"
#include "cc/client/remote_service.h"
#include "cc/service/local_service.h"
#include "cc/service/replica_service.h"
#include "cc/service/worker_service.h"

using persia::ReportStatus;

struct persia_server {
  // The server is destroyed before the service that it hosts.
  std::unique_ptr<persia::EmbeddingService> service;
  const persia::ReplicaService* replica =
      nullptr;  // The service, if that is a replica.
  std::unique_ptr<persia::Server> server;
};

namespace persia {
namespace {

// A row's place in a cache is 32 bits wide.
constexpr uint64_t kMaxCacheRows = uint64_t{1} << 32;

Result<ServerOptions> OptionsOf(const persia_server_options& from) {
  if (from.port < 0 || from.port > 65535) {
    return InvalidArgument("port must be from 0 (any) to 65535, received ",
                           from.port);
  }
  if (from.io_threads < 1) {
    return InvalidArgument("io_threads must be at least 1, received ",
                           from.io_threads);
  }
  ServerOptions options;
  options.host = from.host;
  options.port = static_cast<uint16_t>(from.port);
  options.io_threads = from.io_threads;
  options.auth_token = TextOrNone(from.auth_token);
  options.insecure = from.insecure != 0;
  if (from.max_connections != 0) options.max_connections = from.max_connections;
  if (from.max_message_bytes != 0) {
    options.max_body_bytes = from.max_message_bytes;
  }
  if (from.max_request_tables != 0) {
    options.request.tables = from.max_request_tables;
  }
  if (from.max_request_ids != 0) options.request.ids = from.max_request_ids;
  if (from.events != nullptr) options.events = &from.events->log;
  auto tls = TlsOf(from.tls);
  if (!tls.ok()) return tls.status();
  options.tls = std::move(*tls);
  return options;
}

Status ReadLevel(const std::string& text, RecoveryLevel* level) {
  *level =
      text == "checkpoint" ? RecoveryLevel::kCheckpoint : RecoveryLevel::kLog;
  if (text.empty() || text == "log" || text == "checkpoint") return Status();
  return InvalidArgument("recovery must be log or checkpoint, received \"",
                         text, "\"");
}

Status ReadSync(const std::string& text, SyncMode* sync) {
  *sync = text == "system" ? SyncMode::kSystem : SyncMode::kDevice;
  if (text.empty() || text == "device" || text == "system") return Status();
  return InvalidArgument("log_sync must be device or system, received \"", text,
                         "\"");
}

Result<LocalServiceOptions> LocalOptionsOf(const persia_shard_options& from) {
  LocalServiceOptions options;
  options.checkpoints.root = TextOrNone(from.checkpoint_root);
  options.limits = {from.memory_limit_bytes, from.max_tables};
  RecoveryOptions& recovery = options.recovery;
  recovery.journal.folder = TextOrNone(from.recovery_folder);
  PERSIA_RETURN_IF_ERROR(ReadLevel(TextOrNone(from.recovery), &recovery.level));
  PERSIA_RETURN_IF_ERROR(
      ReadSync(TextOrNone(from.log_sync), &recovery.journal.sync));
  recovery.journal.lose_from = from.lose_log_from;
  if (from.log_bytes != 0) recovery.journal.least_base_bytes = from.log_bytes;
  if (recovery.level == RecoveryLevel::kCheckpoint &&
      !recovery.journal.folder.empty() && options.checkpoints.root.empty()) {
    return InvalidArgument(
        "recovery from a checkpoint needs a checkpoint root, received none");
  }
  return options;
}

Status Start(std::unique_ptr<EmbeddingService> service,
             const ServerOptions& options, persia_server** server) {
  auto handle = std::make_unique<persia_server>();
  handle->service = std::move(service);
  auto started = StartServer(handle->service.get(), options);
  if (!started.ok()) return started.status();
  handle->server = std::move(*started);
  *server = handle.release();
  return Status();
}

RemoteServiceOptions RemoteOptionsOf(const ServerOptions& own) {
  RemoteServiceOptions remote;
  remote.auth_token = own.auth_token;
  remote.tls = own.tls;
  return remote;
}

Status CheckReplica(const persia_shard_options& shard) {
  if (TextOrNone(shard.checkpoint_root).empty() &&
      TextOrNone(shard.recovery_folder).empty()) {
    return Status();
  }
  return InvalidArgument(
      "a replica has no checkpoint root and no recovery folder, received one: "
      "it gets its rows from its source");
}

Status StartReplica(const ServerOptions& options,
                    const persia_shard_options& shard, persia_server** server) {
  PERSIA_RETURN_IF_ERROR(CheckReplica(shard));
  auto source = MakeRemoteService({shard.replica_of}, RemoteOptionsOf(options));
  if (!source.ok()) return source.status();
  ReplicaOptions replica;
  replica.source = shard.replica_of;
  replica.limits = {shard.memory_limit_bytes, shard.max_tables};
  replica.events = options.events;
  auto service = ReplicaService::Start(std::move(*source), replica);
  if (!service.ok()) return service.status();
  const ReplicaService* const started = service->get();
  PERSIA_RETURN_IF_ERROR(Start(std::move(*service), options, server));
  (*server)->replica = started;
  return Status();
}

Status StartShard(const persia_server_options& from,
                  const persia_shard_options& shard, persia_server** server) {
  const Result<ServerOptions> options = OptionsOf(from);
  if (!options.ok()) return options.status();
  if (!TextOrNone(shard.replica_of).empty()) {
    return StartReplica(*options, shard, server);
  }
  Result<LocalServiceOptions> local = LocalOptionsOf(shard);
  if (!local.ok()) return local.status();
  local->events = options->events;
  auto service = OpenLocalService(*local);
  if (!service.ok()) return service.status();
  return Start(std::move(*service), *options, server);
}

Status StartWorker(const persia_server_options& from, const char* addresses,
                   double timeout_seconds, uint64_t cache_rows,
                   persia_server** server) {
  Result<ServerOptions> options = OptionsOf(from);
  if (!options.ok()) return options.status();
  PERSIA_RETURN_IF_ERROR(CheckTimeout(timeout_seconds));
  options->request_seconds = timeout_seconds;
  if (cache_rows > kMaxCacheRows) {
    return InvalidArgument("cache_rows must be at most 2^32, received ",
                           cache_rows);
  }
  RemoteServiceOptions remote = RemoteOptionsOf(*options);
  remote.io_threads = options->io_threads;
  remote.events = options->events;
  auto shards = MakeRemoteService(SplitAddresses(addresses), remote);
  if (!shards.ok()) return shards.status();
  return Start(MakeWorkerService(std::move(*shards), cache_rows), *options,
               server);
}

}  // namespace
}  // namespace persia

int persia_server_start(const persia_server_options* options,
                        const persia_shard_options* shard,
                        persia_server** server) {
  return ReportStatus(persia::StartShard(
      *options, shard == nullptr ? persia_shard_options{} : *shard, server));
}

int persia_worker_start(const persia_server_options* options,
                        const char* addresses, double timeout_seconds,
                        uint64_t cache_rows, persia_server** server) {
  return ReportStatus(persia::StartWorker(*options, addresses, timeout_seconds,
                                          cache_rows, server));
}

int persia_server_port(const persia_server* server) {
  return server->server->port();
}

int persia_server_is_ready(const persia_server* server) {
  return server->replica == nullptr || server->replica->ready() ? 1 : 0;
}

int persia_server_stop(persia_server* server, double seconds) {
  if (!(seconds >= 0 && seconds <= persia::kMaxTimeoutSeconds)) {
    return ReportStatus(
        persia::InvalidArgument("seconds must be from 0 (at once) to ",
                                persia::NumberText(persia::kMaxTimeoutSeconds),
                                ", received ", persia::NumberText(seconds)));
  }
  server->server->Stop(persia::DeadlineAfter(seconds));
  return 0;
}

void persia_server_free(persia_server* server) { delete server; }

int persia_stats_of_server(const persia_server* server, persia_stats** stats) {
  return persia::StatsOfService(server->service.get(),
                                persia::DeadlineAfter(60), stats);
}
