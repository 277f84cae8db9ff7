#include "cc/capi/stats.h"

#include <memory>
#include <utility>

#include "cc/base/text.h"
#include "cc/capi/counters.h"
#include "cc/capi/error.h"
#include "cc/capi/text.h"
#include "cc/capi/timeout.h"
#include "cc/capi/tls.h"
#include "cc/client/remote_service.h"
#include "cc/service/await.h"

using persia::ReportStatus;

namespace persia {

int StatsOfService(EmbeddingService* service, Deadline deadline,
                   persia_stats** stats) {
  StatsRequest request;
  request.deadline = deadline;
  const Status status = Await(
      [&](DoneCallback done) { service->Stats(&request, std::move(done)); });
  if (status.ok()) *stats = new persia_stats{std::move(request.processes)};
  return ReportStatus(status);
}

namespace {

const ServiceStats* FindProcess(const persia_stats* stats, int process) {
  const auto count = static_cast<int>(stats->processes.size());
  if (process < 0 || process >= count) return nullptr;
  return &stats->processes[process];
}

int ReportNoSuch(const char* what, int index) {
  return ReportStatus(Status(Code::kNotFound,
                             Concat("these stats have no ", what, " ", index)));
}

}  // namespace
}  // namespace persia

int persia_stats_fetch(const char* addresses, const char* auth_token,
                       const persia_tls* tls, double timeout_seconds,
                       persia_stats** stats) {
  const persia::Status timeout = persia::CheckTimeout(timeout_seconds);
  if (!timeout.ok()) return ReportStatus(timeout);
  persia::RemoteServiceOptions options;
  options.auth_token = persia::TextOrNone(auth_token);
  auto context = persia::TlsOf(tls == nullptr ? persia_tls{} : *tls);
  if (!context.ok()) return ReportStatus(context.status());
  options.tls = std::move(*context);
  auto service =
      persia::MakeRemoteService(persia::SplitAtCommas(addresses), options);
  if (!service.ok()) return ReportStatus(service.status());
  return persia::StatsOfService(service->get(),
                                persia::DeadlineAfter(timeout_seconds), stats);
}

int persia_stats_processes(const persia_stats* stats) {
  return static_cast<int>(stats->processes.size());
}

int persia_stats_process(const persia_stats* stats, int process,
                         persia_process_stats* out) {
  const persia::ServiceStats* found = persia::FindProcess(stats, process);
  if (found == nullptr) return persia::ReportNoSuch("process", process);
  out->address = found->address.c_str();
  out->source = found->source.c_str();
  out->behind_millis = found->behind_millis;
  out->tables = static_cast<int>(found->tables.size());
  persia::CopyCounters(*found, &out->counters);
  return 0;
}

int persia_stats_table(const persia_stats* stats, int process, int table,
                       persia_table_stats* out) {
  const persia::ServiceStats* found = persia::FindProcess(stats, process);
  if (found == nullptr) return persia::ReportNoSuch("process", process);
  if (table < 0 || table >= static_cast<int>(found->tables.size())) {
    return persia::ReportNoSuch("table", table);
  }
  const persia::TableStats& from = found->tables[table];
  out->name = from.name.c_str();
  out->dim = from.dim;
  persia::CopyCounters(from, &out->counters);
  return 0;
}

void persia_stats_free(persia_stats* stats) { delete stats; }
