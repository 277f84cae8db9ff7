// What the rounds of lookup_bench are made of: the service, and the limits to
// compare it with. Each cycles through the workload's requests, a thread's
// beginning elsewhere than another's.

#ifndef PERSIA_BENCHMARKS_LOOKUP_BENCH_REQUESTERS_H_
#define PERSIA_BENCHMARKS_LOOKUP_BENCH_REQUESTERS_H_

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "benchmarks/lookup_bench/request_ids.h"
#include "benchmarks/support/flat_array.h"
#include "benchmarks/support/rounds.h"
#include "benchmarks/support/workload_file.h"

namespace persia::bench {

// Rows of 16 float32, in W1's tables.
inline constexpr size_t kDim = 16;

// Creates the tables on the shards, and every row of the workload. `tables`
// is 1, or one a feature.
void FillShards(const Workload& workload,
                const std::vector<std::string>& shards, size_t tables);

// What a remote requester does with each request's ids.
enum class RemoteWork {
  kLookup,           // Their duplicates were removed before.
  kDedupeAndLookup,  // It removes them first.
  kUpdate,           // As for kLookup.
};

// Works through a RemoteService of its own, so on one connection a shard; up
// to `in_flight` requests at once. Lookups are those of training.
std::unique_ptr<Requester> MakeRemoteRequester(
    const RequestIds* ids, RemoteWork work,
    const std::vector<std::string>& shards, size_t first, int in_flight);

// Removes duplicates, and nothing else.
std::unique_ptr<Requester> MakeDedupeRequester(const RequestIds* ids,
                                               size_t first);

// Copies each distinct row of a request from `flat`, at places found before.
std::unique_ptr<Requester> MakeGatherRequester(const Workload* workload,
                                               HugeArray* flat, size_t first);

// Processes that answer with bytes of a request's reply, and no more: what one
// of `connections` carries of requests of `rows` rows.
class TransportServers {
 public:
  // Forks, so no thread may run yet.
  explicit TransportServers(size_t rows);
  ~TransportServers();
  TransportServers(const TransportServers&) = delete;
  TransportServers& operator=(const TransportServers&) = delete;

  // The share of a request that one of two connections has.
  std::unique_ptr<Requester> MakeRequester(size_t server) const;

 private:
  struct Process {
    int pid;
    int port;
  };

  size_t rows_;
  std::vector<Process> processes_;
};

}  // namespace persia::bench

#endif  // PERSIA_BENCHMARKS_LOOKUP_BENCH_REQUESTERS_H_
