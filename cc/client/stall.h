// Stall: when a request without an answer means that its connection is dead.
//
// If a peer hangs, or the network drops packets, a connection stays open and
// silent, and TCP reports no error. So if nothing at all arrives for a part of
// a request's time after it was sent, the client reconnects and sends the
// request again, which is safe for every request. Each further wait is longer:
// a server that is only slow receives a request at most three times, and has
// half of the request's time to answer the last one.

#ifndef PERSIA_CC_CLIENT_STALL_H_
#define PERSIA_CC_CLIENT_STALL_H_

#include <algorithm>
#include <chrono>

#include "cc/base/clock.h"

namespace persia {

// The shortest wait: any machine may pause for a moment.
inline constexpr std::chrono::seconds kLeastStallWait{1};

// How often the client reconnects because of one request.
inline constexpr int kMostStalls = 2;

// How long a request that may take `time` in all waits for any bytes to arrive,
// after `stalls` reconnects. Precondition: `stalls` is below kMostStalls.
inline Clock::duration StallWait(Clock::duration time, int stalls) {
  return std::max<Clock::duration>(kLeastStallWait, time / 6 * (1 + stalls));
}

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_STALL_H_
