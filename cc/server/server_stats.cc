#include "cc/server/server_stats.h"

#include <utility>

#include "cc/wire/message_type.h"

namespace persia {
namespace {

std::vector<RequestStats> RequestsOf(const ServerState& server) {
  std::vector<RequestStats> requests;
  for (size_t place = 0; place < kRequestCount; ++place) {
    const AnsweredRequests& answered = server.answered[place];
    RequestStats stats;
    stats.latency = answered.latency.Get();
    bool any = false;
    for (const uint64_t count : stats.latency.buckets) any = any || count > 0;
    if (!any) continue;
    stats.request = kRequestNames[place];
    stats.failed = answered.failed.load(std::memory_order_relaxed);
    requests.push_back(std::move(stats));
  }
  return requests;
}

}  // namespace

void AddServerStats(const ServerState& server,
                    std::vector<ServiceStats>* processes) {
  const bool is_local =
      !processes->empty() && (processes->front().address.empty() ||
                              processes->front().address == "embedded");
  if (!is_local) processes->insert(processes->begin(), ServiceStats());
  ServiceStats& own = processes->front();
  own.address = server.address;
  own.bad_frames = server.bad_frames;
  own.refused_connections = server.refused_connections;
  own.connections = server.connections;
  own.bytes_in = server.bytes_in;
  own.bytes_out = server.bytes_out;
  own.requests = RequestsOf(server);
}

}  // namespace persia
