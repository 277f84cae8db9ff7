// Rounds of requests, run one by one as standard input asks for them: so that
// a driver can run programs in turn, each with its memory and its connections
// warm.

#ifndef PERSIA_BENCHMARKS_SUPPORT_ROUNDS_H_
#define PERSIA_BENCHMARKS_SUPPORT_ROUNDS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace persia::bench {

// What one thread asks for, request after request.
class Requester {
 public:
  virtual ~Requester() = default;

  // Sends a request, once fewer than the most that may be under way are.
  // Returns the rows of those that were answered meanwhile.
  virtual size_t Next() = 0;

  // Waits for those under way.
  virtual void Drain() {}

  // Seconds that each answered request took; the caller may clear it.
  std::vector<double> seconds;
};

// Makes the requester of thread `thread` for a kind of round.
using MakeRequester = std::function<std::unique_ptr<Requester>(
    const std::string& kind, int thread, int in_flight)>;

// Says {"ready": 1}, then for each line "KIND THREADS IN_FLIGHT SECONDS" runs
// such a round, on requesters that are kept, and prints a line of JSON:
// rows_per_second, p50_ms, p99_ms, requests. Returns at the end of input.
void ServeRounds(const MakeRequester& make);

}  // namespace persia::bench

#endif  // PERSIA_BENCHMARKS_SUPPORT_ROUNDS_H_
