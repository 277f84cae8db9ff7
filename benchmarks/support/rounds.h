// Runs a round of requests for each line on standard input. So a driver can let
// several programs take turns while each keeps its memory and connections warm.

#ifndef PERSIA_BENCHMARKS_SUPPORT_ROUNDS_H_
#define PERSIA_BENCHMARKS_SUPPORT_ROUNDS_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace persia::bench {

// The source of one thread's requests.
class Requester {
 public:
  virtual ~Requester() = default;

  // Sends a request; blocks first while the maximal number is in flight.
  // Returns the number of rows of requests that were answered meanwhile.
  virtual size_t Next() = 0;

  // Waits for all requests in flight.
  virtual void Drain() {}

  // Seconds that each answered request took; the caller may clear it.
  std::vector<double> seconds;
};

// Creates the requester of thread `thread` for a kind of round.
using MakeRequester = std::function<std::unique_ptr<Requester>(
    const std::string& kind, int thread, int in_flight)>;

// Prints {"ready": 1}. Then, for each line "KIND THREADS IN_FLIGHT SECONDS"
// read from stdin, runs such a round; requesters are kept for later rounds.
// After each round, prints a line of JSON: rows_per_second, p50_ms, p99_ms,
// requests, and ms: what each request took, in the order in which those of a
// thread were answered. Returns at the end of input.
void ServeRounds(const MakeRequester& make);

}  // namespace persia::bench

#endif  // PERSIA_BENCHMARKS_SUPPORT_ROUNDS_H_
