#include "cc/server/server.h"

#include <memory>
#include <utility>
#include <vector>

#include "cc/base/text.h"
#include "cc/capi/error.h"
#include "cc/capi/events.h"
#include "cc/capi/persia.h"
#include "cc/capi/persia_stats.h"
#include "cc/capi/server_options.h"
#include "cc/capi/stats.h"
#include "cc/capi/timeout.h"
#include "cc/capi/tls.h"
#include "cc/client/remote_service.h"
#include "cc/service/worker_service.h"
#include "cc/shard/ask_standby.h"
#include "cc/shard/local_service.h"
#include "cc/shard/replica_service.h"
#include "cc/shard/standby_folder.h"
#include "cc/shard/standby_service.h"
#include "cc/wire/address.h"

using persia::ReportStatus;

struct persia_server {
  // Members are destroyed from last to first, so the server is destroyed before
  // the service whose requests it handles.
  std::unique_ptr<persia::EmbeddingService> service;
  // `service` if this server is a replica, otherwise null.
  const persia::ReplicaService* replica = nullptr;
  std::unique_ptr<persia::Server> server;
};

namespace persia {
namespace {

// A cache stores the index of a row in 32 bits, which limits its number of
// rows.
constexpr uint64_t kMaxCacheRows = uint64_t{1} << 32;

// Sets the event log and the TLS context, which no text option can carry.
Status Complete(persia_events* events, HostingOptions* options) {
  if (events != nullptr) options->server.events = &events->log;
  auto tls = TlsOf(options->tls);
  if (tls.ok()) options->server.tls = std::move(*tls);
  return tls.status();
}

Status CheckRecovery(const LocalServiceOptions& options) {
  if (options.recovery.level == RecoveryLevel::kCheckpoint &&
      !options.recovery.journal.folder.empty() &&
      options.checkpoints.root.empty()) {
    return InvalidArgument(
        "recovery from a checkpoint needs a checkpoint root, received none: "
        "give --checkpoint-root FOLDER");
  }
  return Status();
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

Status CheckReplica(const LocalServiceOptions& options) {
  if (options.checkpoints.root.empty() &&
      options.recovery.journal.folder.empty()) {
    return Status();
  }
  return InvalidArgument(
      "a replica must have no checkpoint root and no recovery folder, received "
      "one: it copies all rows from its source");
}

Status StartReplica(const ShardOptions& options, persia_server** server) {
  PERSIA_RETURN_IF_ERROR(CheckReplica(options.local));
  RemoteServiceOptions of_one = RemoteOptionsOf(options.server);
  of_one.finds_cluster = false;  // A replica has the rows of one shard.
  auto source = MakeRemoteService({options.replica_of}, of_one);
  if (!source.ok()) return source.status();
  ReplicaOptions replica;
  replica.source = options.replica_of;
  replica.limits = options.local.limits;
  replica.events = options.server.events;
  auto service = ReplicaService::Start(std::move(*source), replica);
  if (!service.ok()) return service.status();
  const ReplicaService* const started = service->get();
  PERSIA_RETURN_IF_ERROR(Start(std::move(*service), options.server, server));
  (*server)->replica = started;
  return Status();
}

// Returns where clients reach a standby that listens at this port.
Result<std::string> AddressOf(const ShardOptions& options, uint16_t port) {
  if (!options.standby_address.empty()) {
    const auto address = Address::Parse(options.standby_address);
    if (!address.ok()) return address.status();
    return options.standby_address;
  }
  const std::string& host = options.server.host;
  if (host == "0.0.0.0" || host == "::" || host.empty()) {
    return InvalidArgument(
        "standby_address must be \"host:port\", where clients reach this "
        "standby, if it listens at all addresses, received \"\"");
  }
  return Address{host, port}.ToString();
}

Status StartStandby(const ShardOptions& options, persia_server** server) {
  const RecoveryOptions& recovery = options.local.recovery;
  if (recovery.journal.folder.empty() ||
      recovery.level != RecoveryLevel::kLog) {
    return InvalidArgument(
        "a standby must have a recovery folder, and recovery log, since it "
        "copies the log of its primary, received none: give "
        "--recovery-folder FOLDER");
  }
  PERSIA_RETURN_IF_ERROR(AddressOf(options, 1).status());
  auto service = StandbyService::Open({options.local, options.standby_of});
  if (!service.ok()) return service.status();
  StandbyService* const standby = service->get();
  PERSIA_RETURN_IF_ERROR(Start(std::move(*service), options.server, server));
  standby->Begin(*AddressOf(options, (*server)->server->port()));
  return Status();
}

Status StartShard(Span<const persia_option> given, persia_events* events,
                  persia_server** server) {
  ShardOptions options;
  PERSIA_RETURN_IF_ERROR(ReadOptions(given, &options));
  PERSIA_RETURN_IF_ERROR(Complete(events, &options));
  // Checks the server's options before the shard recovers, because recovery may
  // take long.
  PERSIA_RETURN_IF_ERROR(CheckOptions(options.server));
  if (!options.replica_of.empty()) return StartReplica(options, server);
  PERSIA_RETURN_IF_ERROR(CheckRecovery(options.local));
  options.local.events = options.server.events;
  RemoteServiceOptions of_one = RemoteOptionsOf(options.server);
  of_one.finds_cluster = false;
  options.local.connect = [of_one](const std::string& address) {
    return MakeRemoteService({address}, of_one);
  };
  if (!options.standby_of.empty()) return StartStandby(options, server);
  PERSIA_RETURN_IF_ERROR(CheckFolderOfShard(options.local.recovery.journal));
  auto service = OpenLocalService(options.local);
  if (!service.ok()) return service.status();
  AskStandby(service->get(), options.local.connect, options.local.events);
  return Start(std::move(*service), options.server, server);
}

Status StartWorker(Span<const persia_option> given, persia_events* events,
                   persia_server** server) {
  WorkerOptions options;
  PERSIA_RETURN_IF_ERROR(ReadOptions(given, &options));
  PERSIA_RETURN_IF_ERROR(Complete(events, &options));
  PERSIA_RETURN_IF_ERROR(CheckTimeout(options.timeout));
  options.server.request_seconds = options.timeout;
  PERSIA_RETURN_IF_ERROR(CheckOptions(options.server));
  if (options.cache_rows > kMaxCacheRows) {
    return InvalidArgument("cache_rows must be at most 2^32, received ",
                           options.cache_rows);
  }
  RemoteServiceOptions remote = RemoteOptionsOf(options.server);
  remote.io_threads = options.server.io_threads;
  remote.events = options.server.events;
  remote.counters = std::make_shared<WireCounters>();
  auto shards = MakeRemoteService(SplitAtCommas(options.ps), remote);
  if (!shards.ok()) return shards.status();
  const auto add_counters = [wire = remote.counters](ServiceStats* own) {
    own->retries = wire->retries;
    own->reconnects = wire->reconnects;
  };
  return Start(
      MakeWorkerService(std::move(*shards), options.cache_rows, add_counters),
      options.server, server);
}

Status CheckKind(int kind) {
  if (kind == PERSIA_SHARD || kind == PERSIA_WORKER) return Status();
  return InvalidArgument(
      "kind must be PERSIA_SHARD or PERSIA_WORKER, received ", kind);
}

Status StartKind(int kind, Span<const persia_option> given,
                 persia_events* events, persia_server** server) {
  PERSIA_RETURN_IF_ERROR(CheckKind(kind));
  return kind == PERSIA_SHARD ? StartShard(given, events, server)
                              : StartWorker(given, events, server);
}

template <typename Options>
std::vector<const char*> NamesOf() {
  std::vector<const char*> names;
  Options().VisitOptions(
      [&](const char* name, const auto&) { names.push_back(name); });
  return names;
}

Status FindOption(int kind, int index, const char** name) {
  PERSIA_RETURN_IF_ERROR(CheckKind(kind));
  const std::vector<const char*> names =
      kind == PERSIA_SHARD ? NamesOf<ShardOptions>() : NamesOf<WorkerOptions>();
  if (index < 0 || static_cast<size_t>(index) >= names.size()) {
    return Status(Code::kNotFound, Concat("there is no option ", index));
  }
  *name = names[static_cast<size_t>(index)];
  return Status();
}

}  // namespace
}  // namespace persia

int persia_server_option(int kind, int index, const char** name) {
  return ReportStatus(persia::FindOption(kind, index, name));
}

int persia_server_start(int kind, const persia_option* options,
                        int option_count, persia_events* events,
                        persia_server** server) {
  const persia::Span<const persia_option> given(
      options, static_cast<size_t>(option_count));
  return ReportStatus(persia::StartKind(kind, given, events, server));
}

int persia_server_port(const persia_server* server) {
  return server->server->port();
}

int persia_server_is_ready(const persia_server* server) {
  return server->replica == nullptr || server->replica->ready() ? 1 : 0;
}

int persia_server_move_shard(persia_server* server, uint32_t shard,
                             const char* address) {
  return ReportStatus(server->service->MoveShard(shard, address));
}

int persia_server_move_address(persia_server* server, const char* from,
                               const char* to) {
  return ReportStatus(server->service->MoveAddress(from, to));
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
  const int code = persia::StatsOfService(server->service.get(),
                                          persia::DeadlineAfter(60), stats,
                                          /*only_own=*/true);
  if (code == 0) server->server->AddStats(&(*stats)->processes);
  return code;
}
