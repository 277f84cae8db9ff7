// WireCounters: counts what a client sent and received.
//
// Thread-safe: each counter is atomic, but they are not consistent with each
// other. A call's frames are counted before the call is done.

#ifndef PERSIA_CC_CLIENT_WIRE_COUNTERS_H_
#define PERSIA_CC_CLIENT_WIRE_COUNTERS_H_

#include <atomic>
#include <cstdint>

namespace persia {

struct WireCounters {
  // Whole frames, headers included, as written to and read from sockets.
  // Frames that a broken connection cut off are not counted.
  std::atomic<uint64_t> bytes_out{0};
  std::atomic<uint64_t> bytes_in{0};
  std::atomic<uint64_t> requests{0};  // Requests, each counted once.
  std::atomic<uint64_t> retries{0};   // Requests sent again, for any reason.
  // Connections, except the first to each server.
  std::atomic<uint64_t> reconnects{0};
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_WIRE_COUNTERS_H_
