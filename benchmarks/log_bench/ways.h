// Ways to write records to a folder. Each runs for about the given time.

#ifndef PERSIA_BENCHMARKS_LOG_BENCH_WAYS_H_
#define PERSIA_BENCHMARKS_LOG_BENCH_WAYS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cc/log/log_writer.h"

namespace persia::bench {

struct Load {
  std::string folder;  // Must exist and be empty.
  std::vector<uint8_t> record;
  size_t in_flight = 1;  // The maximum number of unacknowledged records.
  double seconds = 1;
};

// Writes records to the log. Like PlainLoop, it returns the bytes per second of
// acknowledged records, and removes what it wrote.
double Log(const Load& load, SyncMode sync);

// The limit to compare with: a loop that writes each record to a file and, if
// `syncs`, syncs it.
double PlainLoop(const Load& load, bool syncs);

}  // namespace persia::bench

#endif  // PERSIA_BENCHMARKS_LOG_BENCH_WAYS_H_
