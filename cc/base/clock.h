// Clock and Deadline: every wait in this project ends at a deadline.

#ifndef PERSIA_CC_BASE_CLOCK_H_
#define PERSIA_CC_BASE_CLOCK_H_

#include <chrono>

namespace persia {

// A monotonic clock: adjusting the wall clock neither ends nor extends a wait.
using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

inline Deadline DeadlineAfter(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(seconds));
}

inline double SecondsUntil(Deadline deadline) {
  return std::chrono::duration<double>(deadline - Clock::now()).count();
}

// The time of the wall clock, for people; no wait may depend on it.
inline double UnixSeconds() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace persia

#endif  // PERSIA_CC_BASE_CLOCK_H_
