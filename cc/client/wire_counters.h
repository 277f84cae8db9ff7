// WireCounters: what a client sent and received.
//
// Thread-safe: each counter is atomic by itself. A call's frames are counted
// before it is done.

#ifndef PERSIA_CC_CLIENT_WIRE_COUNTERS_H_
#define PERSIA_CC_CLIENT_WIRE_COUNTERS_H_

#include <atomic>
#include <cstdint>

namespace persia {

struct WireCounters {
  // Whole frames, headers included, as written to and read from sockets. What
  // a connection lost of a frame is in neither.
  std::atomic<uint64_t> bytes_out{0};
  std::atomic<uint64_t> bytes_in{0};
  std::atomic<uint64_t> requests{0};    // Sent to a server, repeats aside.
  std::atomic<uint64_t> retries{0};     // Sent again, for whatever reason.
  std::atomic<uint64_t> reconnects{0};  // Connections but each server's first.
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_WIRE_COUNTERS_H_
