// Deadlines: every wait in this project has one.

#ifndef PERSIA_CC_BASE_CLOCK_H_
#define PERSIA_CC_BASE_CLOCK_H_

#include <chrono>

namespace persia {

// Monotonic, so that a change of the wall clock never ends or extends a wait.
using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

inline Deadline DeadlineAfter(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                            std::chrono::duration<double>(seconds));
}

inline double SecondsUntil(Deadline deadline) {
  return std::chrono::duration<double>(deadline - Clock::now()).count();
}

}  // namespace persia

#endif  // PERSIA_CC_BASE_CLOCK_H_
