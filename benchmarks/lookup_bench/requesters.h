// The requesters for the rounds of lookup_bench: for the service, and for the
// limits to compare the service with. Each cycles through the workload's
// requests; every thread begins at a different request.

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

// Weights of a row in W1's tables: float32.
inline constexpr size_t kDim = 16;

// Creates the tables on the shards, with rows of `dim` weights, and every row
// of the workload. `tables` is 1, or the number of features.
void FillShards(const Workload& workload,
                const std::vector<std::string>& shards, size_t tables,
                size_t dim);

// What a remote requester does with each request's ids. They are deduplicated
// in advance, except for kDedupeAndLookup.
enum class RemoteWork {
  kLookup,           // Looks the ids up.
  kDedupeAndLookup,  // Deduplicates the ids and looks them up.
  kUpdate,           // Updates the ids' rows.
};

// Uses a RemoteService of its own, and so one connection per shard, with up to
// `in_flight` requests in flight. Its lookups are training lookups.
std::unique_ptr<Requester> MakeRemoteRequester(
    const RequestIds* ids, size_t dim, RemoteWork work,
    const std::vector<std::string>& shards, size_t first, int in_flight);

// Deduplicates ids, and does nothing else.
std::unique_ptr<Requester> MakeDedupeRequester(const RequestIds* ids,
                                               size_t first);

// Copies each distinct row of a request from `flat`, at indices that were
// computed in advance.
std::unique_ptr<Requester> MakeGatherRequester(const Workload* workload,
                                               HugeArray* flat, size_t first);

// Two processes that answer a request with as many bytes as a real reply has,
// without any lookup. A request for `rows` rows is divided equally between the
// two, so each process sends `rows` / 2 rows per reply.
class TransportServers {
 public:
  // Forks, so no thread may run yet.
  explicit TransportServers(size_t rows);
  ~TransportServers();
  TransportServers(const TransportServers&) = delete;
  TransportServers& operator=(const TransportServers&) = delete;

  // A requester of one process; sends that process's half of each request.
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
