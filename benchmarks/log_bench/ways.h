// Ways to put records into a folder, each for about as long as asked.

#ifndef PERSIA_BENCHMARKS_LOG_BENCH_WAYS_H_
#define PERSIA_BENCHMARKS_LOG_BENCH_WAYS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cc/log/log_writer.h"

namespace persia::bench {

struct Load {
  std::string folder;  // There, and empty.
  std::vector<uint8_t> record;
  size_t in_flight = 1;  // Records that are not acknowledged.
  double seconds = 1;
};

// Bytes of records a second, of those that were acknowledged. What was written
// is gone afterwards.
double Log(const Load& load, SyncMode sync);

// The limit: a loop that writes each record to a file and, where it syncs,
// syncs each.
double PlainLoop(const Load& load, bool syncs);

}  // namespace persia::bench

#endif  // PERSIA_BENCHMARKS_LOG_BENCH_WAYS_H_
