#include "cc/server/server.h"

#include <memory>

#include "cc/capi/error.h"
#include "cc/capi/persia.h"
#include "cc/capi/stats.h"
#include "cc/capi/timeout.h"
#include "cc/service/local_service.h"

using persia::ReportStatus;

struct persia_server {
  // The server is destroyed before the service that it hosts.
  std::unique_ptr<persia::EmbeddingService> service;
  std::unique_ptr<persia::Server> server;
};

int persia_server_start(const char* host, int port, int io_threads,
                        persia_server** server) {
  if (port < 0 || port > 65535) {
    return ReportStatus(persia::InvalidArgument(
        "port must be from 0 (any) to 65535, received ", port));
  }
  if (io_threads < 1) {
    return ReportStatus(persia::InvalidArgument(
        "io_threads must be at least 1, received ", io_threads));
  }
  persia::ServerOptions options;
  options.host = host;
  options.port = static_cast<uint16_t>(port);
  options.io_threads = io_threads;
  auto handle = std::make_unique<persia_server>();
  handle->service = persia::MakeLocalService();
  auto started = persia::StartServer(handle->service.get(), options);
  if (!started.ok()) return ReportStatus(started.status());
  handle->server = std::move(*started);
  *server = handle.release();
  return 0;
}

int persia_server_port(const persia_server* server) {
  return server->server->port();
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
