#include "cc/pipeline/session.h"

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
            int max_pending_pushes) {
  PERSIA_RETURN_IF_ERROR(CheckTimeout(timeout_seconds));
  if (max_pending_pushes < 0) {
    return InvalidArgument("max_pending_pushes must be at least 0, received ",
                           max_pending_pushes);
  }
  auto service = MakeService(addresses);
  if (!service.ok()) return service.status();
  SessionOptions options;
  options.timeout_seconds = timeout_seconds;
  options.max_pending_pushes = max_pending_pushes;
  return OpenSession(name, std::move(*service), options);
}

Status CreateTable(const char* name, const TableConfig& config,
                   const char* initializer, const char* optimizer,
                   uint64_t* rows) {
  auto session = FindSession(name);
  if (!session.ok()) return session.status();
  auto initializer_spec = Spec::Parse(initializer);
  if (!initializer_spec.ok()) return initializer_spec.status();
  auto optimizer_spec = Spec::Parse(optimizer);
  if (!optimizer_spec.ok()) return optimizer_spec.status();
  TableConfig whole = config;
  whole.initializer = std::move(*initializer_spec);
  whole.optimizer = std::move(*optimizer_spec);
  auto held = (*session)->CreateTable(whole);
  if (!held.ok()) return held.status();
  *rows = *held;
  return Status();
}

}  // namespace
}  // namespace persia

int persia_session_open(const char* name, const char* addresses,
                        double timeout_seconds, int max_pending_pushes) {
  return ReportStatus(
      persia::Open(name, addresses, timeout_seconds, max_pending_pushes));
}

int persia_session_close(const char* name) {
  return ReportStatus(persia::CloseSession(name));
}

int persia_session_create_table(const char* name, const char* table, int dim,
                                const char* initializer, const char* optimizer,
                                uint64_t seed, float default_value,
                                uint64_t* rows) {
  if (dim < 1) {
    return ReportStatus(persia::InvalidArgument(
        "output_dim must be at least 1, received ", dim));
  }
  persia::TableConfig config;
  config.name = table;
  config.dim = static_cast<uint32_t>(dim);
  config.seed = seed;
  config.default_value = default_value;
  return ReportStatus(
      persia::CreateTable(name, config, initializer, optimizer, rows));
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
