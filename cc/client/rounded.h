// Rounds durations for log and error messages.

#ifndef PERSIA_CC_CLIENT_ROUNDED_H_
#define PERSIA_CC_CLIENT_ROUNDED_H_

#include <chrono>
#include <cmath>

#include "cc/base/clock.h"

namespace persia {

// Returns the duration in seconds, rounded to 0.01 if it is below one second
// and to 0.1 otherwise.
inline double RoundedSeconds(Clock::duration span) {
  const double seconds = std::chrono::duration<double>(span).count();
  const double steps = seconds < 1 ? 100 : 10;
  return std::round(seconds * steps) / steps;
}

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_ROUNDED_H_
