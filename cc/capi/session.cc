#include "cc/pipeline/session.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "cc/capi/addresses.h"
#include "cc/capi/error.h"
#include "cc/capi/persia.h"
#include "cc/capi/stats.h"
#include "cc/capi/timeout.h"
#include "cc/client/remote_service.h"
#include "cc/service/local_service.h"

using persia::ReportStatus;

namespace persia {
namespace {

Result<std::unique_ptr<EmbeddingService>> MakeService(const char* addresses) {
  const std::vector<std::string> list = SplitAddresses(addresses);
  if (list.empty()) return MakeLocalService();
  return MakeRemoteService(list, RemoteServiceOptions());
}

Status Open(const char* name, const char* addresses, double timeout_seconds,
            int staleness) {
  PERSIA_RETURN_IF_ERROR(CheckTimeout(timeout_seconds));
  if (staleness < 0) {
    return InvalidArgument("staleness must be at least 0, received ",
                           staleness);
  }
  auto service = MakeService(addresses);
  if (!service.ok()) return service.status();
  SessionOptions options;
  options.timeout_seconds = timeout_seconds;
  options.staleness = staleness;
  return OpenSession(name, std::move(*service), options);
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
  TableConfig config;
  config.name = table;
  PERSIA_RETURN_IF_ERROR(ReadSettings(settings, &config));
  auto held = (*session)->CreateTable(config);
  if (!held.ok()) return held.status();
  *rows = *held;
  return Status();
}

}  // namespace
}  // namespace persia

int persia_session_open(const char* name, const char* addresses,
                        double timeout_seconds, int staleness) {
  return ReportStatus(
      persia::Open(name, addresses, timeout_seconds, staleness));
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

int persia_session_get_counters(const char* name,
                                persia_session_counters* counters) {
  auto session = persia::FindSession(name);
  if (!session.ok()) return ReportStatus(session.status());
  const persia::SessionCounters from = (*session)->Counters();
  counters->training_lookups = from.training_lookups;
  counters->readonly_lookups = from.readonly_lookups;
  counters->committed = from.committed;
  counters->pushed = from.pushed;
  counters->discarded = from.discarded;
  counters->nonfinite = from.nonfinite;
  counters->absent = from.absent;
  counters->requests = from.requests;
  counters->prefetched = from.prefetched;
  counters->stale = from.stale;
  counters->waits = from.waits;
  counters->wait_nanoseconds = from.wait_nanos;
  counters->unacknowledged = from.unacknowledged;
  counters->registered = from.registered;
  counters->staleness_last = from.staleness.last;
  counters->staleness_max = from.staleness.max;
  return 0;
}

int persia_session_get_staleness(const char* name, uint64_t* batches,
                                 int bins) {
  if (bins < 1) {
    return ReportStatus(persia::InvalidArgument(
        "bins must be at least 1, received ", bins));
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
  std::vector<persia::ServiceStats> processes;
  const persia::Status status = (*session)->Stats(&processes);
  if (status.ok()) *stats = new persia_stats{std::move(processes)};
  return ReportStatus(status);
}
