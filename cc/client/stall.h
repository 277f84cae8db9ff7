// Stalls: how long a request stays unanswered before the client takes its
// connection for dead.
//
// If a peer hangs, or the network drops packets, a connection stays open and
// silent, and TCP reports no error. So if no bytes arrive for a fraction of a
// request's time limit after the request was sent, the client reconnects and
// sends the request again, which is safe for every request. Each further wait
// is longer: a server that is only slow receives a request at most three times,
// and has half of the request's time limit to answer the last copy.

#ifndef PERSIA_CC_CLIENT_STALL_H_
#define PERSIA_CC_CLIENT_STALL_H_

#include <algorithm>
#include <chrono>

#include "cc/base/clock.h"

namespace persia {

// The shortest wait before a reconnect, since any machine may pause for a
// moment.
inline constexpr std::chrono::seconds kLeastStallWait{1};

// The client reconnects at most this many times because of one request.
inline constexpr int kMostStalls = 2;

// How long the client waits for any bytes before it reconnects because of a
// request. `time` is the request's time limit; `stalls` is the number of
// reconnects that the request has already caused. Precondition: `stalls` is
// below kMostStalls.
inline Clock::duration StallWait(Clock::duration time, int stalls) {
  return std::max<Clock::duration>(kLeastStallWait, time / 6 * (1 + stalls));
}

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_STALL_H_
