// Stall: when a request that has no answer means that its connection is dead.
//
// A peer that hangs, or a way that swallows bytes, leaves a connection open and
// silent: TCP sees nothing wrong. So a request that was sent waits for a part
// of its time only, as long as nothing at all comes; then the connection is
// made anew and the request sent again, which is allowed for every request.
// Each further wait is longer: a server that is merely slow is not asked more
// than three times, and has half of the time for the last.

#ifndef PERSIA_CC_CLIENT_STALL_H_
#define PERSIA_CC_CLIENT_STALL_H_

#include <algorithm>
#include <chrono>

#include "cc/base/clock.h"

namespace persia {

// Never sooner: any machine may pause for a while.
inline constexpr std::chrono::seconds kLeastStallWait{1};

// How often a request's connection is made anew for that.
inline constexpr int kMostStalls = 2;

// How long a request with so much time in all waits for a sign of life, if its
// connection was made anew `stalls` times, less than kMostStalls.
inline Clock::duration StallWait(Clock::duration time, int stalls) {
  return std::max<Clock::duration>(kLeastStallWait, time / 6 * (1 + stalls));
}

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_STALL_H_
