#include <memory>
#include <string>
#include <utility>

#include "cc/base/hash.h"
#include "cc/capi/counters.h"
#include "cc/capi/error.h"
#include "cc/capi/persia_remote.h"
#include "cc/serving/remote_tables.h"

using persia::ReportStatus;

struct persia_remote {
  std::shared_ptr<persia::RemoteTables> tables;
};

int persia_remote_next(uint64_t after, persia_remote** remote) {
  auto tables = persia::NextRemoteTables(after);
  *remote = tables == nullptr ? nullptr : new persia_remote{std::move(tables)};
  return ReportStatus(persia::Status());
}

void persia_remote_free(persia_remote* remote) { delete remote; }

void persia_remote_get_counters(const persia_remote* remote,
                                persia_remote_counters* out) {
  const persia::RemoteTables& tables = *remote->tables;
  const persia::RemoteCounters from = tables.counters();
  out->number = tables.number();
  out->cluster = tables.cluster().c_str();
  out->addresses = tables.addresses().c_str();
  persia::CopyCounters(from, &out->counters);
  static_assert(persia::Latencies::kBins == PERSIA_LATENCY_BINS,
                "the header says how many there are");
  for (size_t b = 0; b < from.latencies.size(); ++b) {
    out->latencies[b] = from.latencies[b];
  }
}

void persia_remote_set_followed(persia_remote* remote, int followed) {
  remote->tables->SetFollowed(followed != 0);
}

int persia_remote_refresh(persia_remote* remote, const char* table, int dim,
                          const int64_t* ids, uint64_t count,
                          const float* rows) {
  return ReportStatus(remote->tables->Refresh(
      persia::HashName(table), static_cast<uint32_t>(dim),
      persia::Span<const int64_t>(ids, count),
      persia::Span<const float>(rows, count * static_cast<uint64_t>(dim))));
}

int persia_remote_erase(persia_remote* remote, const char* table,
                        const int64_t* ids, uint64_t count) {
  return ReportStatus(remote->tables->Erase(
      persia::HashName(table), persia::Span<const int64_t>(ids, count)));
}

int persia_remote_close(uint64_t number) {
  return ReportStatus(persia::CloseRemoteTables(number));
}
