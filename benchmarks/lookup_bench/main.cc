// lookup_bench: measures lookups and updates through RemoteService, and the
// limits to compare lookups with. Run by benchmarks/rows_over_redis.py and
// others, which request rounds on standard input:
//
//   lookup_bench WORKLOAD_FILE TABLES HOST:PORT,HOST:PORT [DIM]
//
// DIM is the number of weights of a row, 16 unless given; the limits have 16.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "benchmarks/lookup_bench/requesters.h"
#include "benchmarks/support/fail.h"

namespace persia::bench {
namespace {

size_t DistinctRows(const Workload& workload) {
  const auto places = workload.places(0);
  std::vector<uint32_t> sorted(places.begin(), places.end());
  std::sort(sorted.begin(), sorted.end());
  return std::unique(sorted.begin(), sorted.end()) - sorted.begin();
}

int Main(int argc, char** argv) {
  if (argc != 4 && argc != 5) {
    std::fprintf(stderr, "usage: %s WORKLOAD_FILE TABLES SHARD,SHARD [DIM]\n",
                 argv[0]);
    return 2;
  }
  const Workload workload(argv[1]);
  const size_t tables = std::strtoul(argv[2], nullptr, 10);
  if (tables != 1 && tables != workload.features()) {
    Fail("TABLES must be 1 or the number of features");
  }
  const size_t dim = argc == 5 ? std::strtoul(argv[4], nullptr, 10) : kDim;
  if (dim == 0) Fail("DIM must be a number above 0");
  std::vector<std::string> shards;
  std::istringstream list(argv[3]);
  for (std::string shard; std::getline(list, shard, ',');) {
    shards.push_back(shard);
  }
  const TransportServers transport(DistinctRows(workload));
  FillShards(workload, shards, tables, dim);
  const RequestIds ids(&workload, tables, shards.size());
  std::optional<HugeArray> flat;  // Large, and few rounds need it.
  ServeRounds([&](const std::string& kind, int thread, int in_flight) {
    const size_t first = thread * workload.requests() / 2;
    const auto remote = [&](RemoteWork work) {
      return MakeRemoteRequester(&ids, dim, work, shards, first, in_flight);
    };
    if (kind == "remote") return remote(RemoteWork::kLookup);
    if (kind == "remote_dedupe") return remote(RemoteWork::kDedupeAndLookup);
    if (kind == "remote_update") return remote(RemoteWork::kUpdate);
    if (kind == "dedupe") return MakeDedupeRequester(&ids, first);
    if (kind == "gather") {
      if (!flat) flat.emplace(workload.rows() * kAdagradStride);
      return MakeGatherRequester(&workload, &*flat, first);
    }
    if (kind == "transport") return transport.MakeRequester(thread);
    Fail("no such kind of round: " + kind);
  });
  return 0;
}

}  // namespace
}  // namespace persia::bench

int main(int argc, char** argv) { return persia::bench::Main(argc, argv); }
