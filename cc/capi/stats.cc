#include "cc/capi/stats.h"

#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "cc/base/text.h"
#include "cc/capi/control_options.h"
#include "cc/capi/counters.h"
#include "cc/capi/error.h"
#include "cc/client/remote_service.h"
#include "cc/service/await.h"

using persia::ReportStatus;

namespace persia {

int StatsOfService(EmbeddingService* service, Deadline deadline,
                   persia_stats** stats, bool only_own) {
  StatsRequest request;
  request.only_own = only_own;
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

// Sets *found to the entry with index `index` of a list in a process's stats.
template <typename Part>
int FindPart(const persia_stats* stats, int process, const char* what,
             std::vector<Part> ServiceStats::*list, int index,
             const Part** found) {
  const ServiceStats* owner = FindProcess(stats, process);
  if (owner == nullptr) return ReportNoSuch("process", process);
  const std::vector<Part>& parts = owner->*list;
  if (index < 0 || static_cast<size_t>(index) >= parts.size()) {
    return ReportNoSuch(what, index);
  }
  *found = &parts[static_cast<size_t>(index)];
  return 0;
}

}  // namespace
}  // namespace persia

int persia_stats_fetch(const char* addresses, const char* auth_token,
                       const persia_tls* tls, double timeout_seconds,
                       persia_stats** stats) {
  auto options = persia::ControlOptionsOf(auth_token, tls, timeout_seconds);
  if (!options.ok()) return ReportStatus(options.status());
  auto service =
      persia::MakeRemoteService(persia::SplitAtCommas(addresses), *options);
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
  out->role = found->role.c_str();
  out->source = found->source.c_str();
  out->behind_millis = found->behind_millis;
  out->tables = static_cast<int>(found->tables.size());
  out->requests = static_cast<int>(found->requests.size());
  out->trainers = static_cast<int>(found->trainers.size());
  persia::CopyCounters(*found, &out->counters);
  return 0;
}

int persia_stats_table(const persia_stats* stats, int process, int table,
                       persia_table_stats* out) {
  const persia::TableStats* from = nullptr;
  const int code = persia::FindPart(
      stats, process, "table", &persia::ServiceStats::tables, table, &from);
  if (code != 0) return code;
  out->name = from->name.c_str();
  out->dim = from->dim;
  persia::CopyCounters(*from, &out->counters);
  return 0;
}

int persia_stats_request(const persia_stats* stats, int process, int request,
                         persia_request_stats* out) {
  const persia::RequestStats* from = nullptr;
  const int code =
      persia::FindPart(stats, process, "request",
                       &persia::ServiceStats::requests, request, &from);
  if (code != 0) return code;
  out->name = from->request.c_str();
  out->failed = from->failed;
  out->nanoseconds = from->latency.nanoseconds;
  out->buckets = from->latency.buckets.data();
  out->bucket_count = static_cast<int>(from->latency.buckets.size());
  return 0;
}

double persia_stats_bucket_bound(int bucket) {
  const bool has_bound = bucket >= 0 && static_cast<size_t>(bucket) + 1 <
                                            persia::LatencyHistogram::kBuckets;
  return has_bound ? persia::LatencyHistogram::BoundSeconds(
                         static_cast<size_t>(bucket))
                   : HUGE_VAL;
}

int persia_stats_trainer(const persia_stats* stats, int process, int trainer,
                         persia_trainer_stats* out) {
  const persia::TrainerStats* from = nullptr;
  const int code =
      persia::FindPart(stats, process, "trainer",
                       &persia::ServiceStats::trainers, trainer, &from);
  if (code != 0) return code;
  out->program = from->program.c_str();
  persia::CopyCounters(*from, &out->counters);
  return 0;
}

void persia_stats_free(persia_stats* stats) { delete stats; }
