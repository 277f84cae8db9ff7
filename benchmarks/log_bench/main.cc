// log_bench: the log against a plain loop that writes and syncs. Run by
// benchmarks/log_bench.py:
//
//   log_bench FOLDER RECORD_BYTES IN_FLIGHT SECONDS ROUNDS

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "benchmarks/log_bench/ways.h"
#include "benchmarks/support/measure.h"

namespace persia::bench {
namespace {

int Main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr,
                 "usage: %s FOLDER RECORD_BYTES IN_FLIGHT SECONDS ROUNDS\n",
                 argv[0]);
    return 2;
  }
  Load load;
  load.folder = argv[1];
  load.record.resize(std::strtoul(argv[2], nullptr, 10));
  for (size_t i = 0; i < load.record.size(); ++i) {
    load.record[i] = static_cast<uint8_t>(i * 7);
  }
  load.in_flight = std::strtoul(argv[3], nullptr, 10);
  load.seconds = std::atof(argv[4]);
  const int rounds = std::atoi(argv[5]);
  std::vector<double> device, system, synced, unsynced;
  for (int round = 0; round < rounds; ++round) {
    synced.push_back(PlainLoop(load, /*syncs=*/true));
    device.push_back(Log(load, SyncMode::kDevice));
    system.push_back(Log(load, SyncMode::kSystem));
    unsynced.push_back(PlainLoop(load, /*syncs=*/false));
  }
  Print("log", {{"device_over_synced_loop", Median(Ratios(device, synced))},
                {"system_over_synced_loop", Median(Ratios(system, synced))},
                {"system_over_loop", Median(Ratios(system, unsynced))},
                {"device_mb_per_second", Median(device) / 1e6},
                {"system_mb_per_second", Median(system) / 1e6},
                {"synced_loop_mb_per_second", Median(synced) / 1e6},
                {"loop_mb_per_second", Median(unsynced) / 1e6}});
  return 0;
}

}  // namespace
}  // namespace persia::bench

int main(int argc, char** argv) { return persia::bench::Main(argc, argv); }
