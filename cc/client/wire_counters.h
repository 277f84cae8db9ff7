// WireCounters: counts what a client sent and received.
//
// The counters are thread-safe: each one is atomic, but several counters read
// together may not be consistent. A call's frames are counted before the call
// is done.

#ifndef PERSIA_CC_CLIENT_WIRE_COUNTERS_H_
#define PERSIA_CC_CLIENT_WIRE_COUNTERS_H_

#include <atomic>
#include <cstdint>

namespace persia {

struct WireCounters {
  // The bytes of whole frames, headers included, written to and read from
  // sockets. Frames that a broken connection cut off are not counted.
  std::atomic<uint64_t> bytes_out{0};
  std::atomic<uint64_t> bytes_in{0};
  std::atomic<uint64_t> requests{0};  // Requests, without their retries.
  std::atomic<uint64_t> retries{0};   // Requests sent again, for any reason.
  // Connections, except the first to each server.
  std::atomic<uint64_t> reconnects{0};
};

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_WIRE_COUNTERS_H_
