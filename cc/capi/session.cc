#include "cc/pipeline/session.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/text.h"
#include "cc/capi/counters.h"
#include "cc/capi/error.h"
#include "cc/capi/events.h"
#include "cc/capi/persia.h"
#include "cc/capi/persia_stats.h"
#include "cc/capi/stats.h"
#include "cc/capi/text.h"
#include "cc/capi/timeout.h"
#include "cc/capi/tls.h"
#include "cc/client/remote_service.h"
#include "cc/shard/local_service.h"

using persia::ReportStatus;

namespace persia {
namespace {

Result<std::unique_ptr<EmbeddingService>> MakeService(
    const std::vector<std::string>& addresses, const SessionOptions& session,
    const persia_session_options& options) {
  if (addresses.empty()) {
    LocalServiceOptions local;
    // Checkpoints may be in any folder, because the only client of the embedded
    // store is this process.
    local.checkpoints.root = "/";
    return OpenLocalService(local);
  }
  RemoteServiceOptions remote;
  remote.counters = session.wire;
  remote.wire_dtype = session.wire_dtype;
  remote.auth_token = TextOrNone(options.auth_token);
  if (options.events != nullptr) remote.events = &options.events->log;
  auto tls = TlsOf(options.tls);
  if (!tls.ok()) return tls.status();
  remote.tls = std::move(*tls);
  return MakeRemoteService(addresses, remote);
}

Status Open(const char* name, const persia_session_options& options) {
  PERSIA_RETURN_IF_ERROR(CheckTimeout(options.timeout_seconds));
  if (options.staleness < 0) {
    return InvalidArgument("staleness must be at least 0, received ",
                           options.staleness);
  }
  SessionOptions session;
  session.timeout_seconds = options.timeout_seconds;
  session.staleness = options.staleness;
  session.wire = std::make_shared<WireCounters>();
  session.hot_rows = options.hot_rows;
  const Result<WireDtype> wire_dtype = ParseWireDtype(options.wire_dtype);
  if (!wire_dtype.ok()) return wire_dtype.status();
  session.wire_dtype = *wire_dtype;
  const std::vector<std::string> addresses = SplitAtCommas(options.addresses);
  // An embedded store gets gradients as they are.
  if (session.wire_dtype == WireDtype::kInt4 && !addresses.empty()) {
    session.residual_rows = kResidualRows;
  }
  // The session sends whole bags only to a single address. With several
  // embedding workers, each table's bags would go to one worker, but its row
  // requests are split over all workers, so copies of rows on one worker would
  // miss updates that pass through another.
  session.send_bags = addresses.size() == 1;
  auto service = MakeService(addresses, session, options);
  if (!service.ok()) return service.status();
  return OpenSession(name, std::move(*service), session);
}

Status ParseSetting(const char* text, Spec* setting) {
  if (text == nullptr) return Status();
  auto parsed = Spec::Parse(text);
  if (parsed.ok()) *setting = std::move(*parsed);
  return parsed.status();
}

Status ReadSettings(const persia_table_settings& settings,
                    TableConfig* config) {
  if (settings.dim < 1) {
    return InvalidArgument("output_dim must be at least 1, received ",
                           settings.dim);
  }
  config->dim = static_cast<uint32_t>(settings.dim);
  config->seed = settings.seed;
  config->default_value = settings.default_value;
  PERSIA_RETURN_IF_ERROR(
      ParseSetting(settings.initializer, &config->initializer));
  PERSIA_RETURN_IF_ERROR(ParseSetting(settings.optimizer, &config->optimizer));
  PERSIA_RETURN_IF_ERROR(ParseSetting(settings.row_dtype, &config->row_dtype));
  PERSIA_RETURN_IF_ERROR(ParseSetting(settings.capacity, &config->capacity));
  PERSIA_RETURN_IF_ERROR(ParseSetting(settings.admission, &config->admission));
  return ParseSetting(settings.eviction, &config->eviction);
}

Status CreateTable(const char* name, const char* table,
                   const persia_table_settings& settings, uint64_t* rows) {
  auto session = FindSession(name);
  if (!session.ok()) return session.status();
  CreateTableRequest request;
  request.config.name = table;
  request.replaces_optimizer = settings.replaces_optimizer != 0;
  PERSIA_RETURN_IF_ERROR(ReadSettings(settings, &request.config));
  PERSIA_RETURN_IF_ERROR((*session)->CreateTable(&request));
  *rows = request.rows;
  if (settings.held_optimizer == nullptr) return Status();
  const std::string& optimizer = request.optimizer;
  if (optimizer.size() >= PERSIA_OPTIMIZER_BYTES) {
    return Status(Code::kInternal,
                  Concat("the text of the optimizer of table \"", table,
                         "\" is too long: ", optimizer));
  }
  std::memcpy(settings.held_optimizer, optimizer.c_str(), optimizer.size() + 1);
  return Status();
}

}  // namespace
}  // namespace persia

int persia_session_open(const char* name,
                        const persia_session_options* options) {
  return ReportStatus(persia::Open(name, *options));
}

int persia_session_close(const char* name) {
  return ReportStatus(persia::CloseSession(name));
}

int persia_session_create_table(const char* name, const char* table,
                                const persia_table_settings* settings,
                                uint64_t* rows) {
  return ReportStatus(persia::CreateTable(name, table, *settings, rows));
}

int persia_session_flush(const char* name) {
  auto session = persia::FindSession(name);
  return ReportStatus(session.ok() ? (*session)->Flush() : session.status());
}

int persia_session_move_shard(const char* name, uint32_t shard,
                              const char* address) {
  auto session = persia::FindSession(name);
  return ReportStatus(session.ok() ? (*session)->MoveShard(shard, address)
                                   : session.status());
}

int persia_session_move_address(const char* name, const char* from,
                                const char* to) {
  auto session = persia::FindSession(name);
  return ReportStatus(session.ok() ? (*session)->MoveAddress(from, to)
                                   : session.status());
}

int persia_session_get_counters(const char* name, persia_counters* counters) {
  if (name == nullptr) {
    persia::CopyCounters(persia::SessionCounters(), counters);
    return 0;
  }
  auto session = persia::FindSession(name);
  if (session.ok()) persia::CopyCounters((*session)->Counters(), counters);
  return ReportStatus(session.status());
}

int persia_session_get_staleness(const char* name, uint64_t* batches,
                                 int bins) {
  if (bins < 1) {
    return ReportStatus(
        persia::InvalidArgument("bins must be at least 1, received ", bins));
  }
  auto session = persia::FindSession(name);
  if (!session.ok()) return ReportStatus(session.status());
  const persia::StalenessHistogram from = (*session)->Counters().staleness;
  std::fill_n(batches, bins, 0);
  for (size_t s = 0; s < from.batches.size(); ++s) {
    batches[std::min<size_t>(s, bins - 1)] += from.batches[s];
  }
  return 0;
}

int persia_stats_of_session(const char* name, persia_stats** stats) {
  auto session = persia::FindSession(name);
  if (!session.ok()) return ReportStatus(session.status());
  persia::StatsRequest request;
  const persia::Status status = (*session)->Call(&request);
  if (status.ok()) *stats = new persia_stats{std::move(request.processes)};
  return ReportStatus(status);
}
