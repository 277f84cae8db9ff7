// CheckTimeout: checks a time limit that the C interface received.

#ifndef PERSIA_CC_CAPI_TIMEOUT_H_
#define PERSIA_CC_CAPI_TIMEOUT_H_

#include "cc/base/number.h"
#include "cc/base/status.h"

namespace persia {

// The longest permitted time limit. The clock counts nanoseconds in 64 bits, so
// a very much longer limit would overflow.
inline constexpr double kMaxTimeoutSeconds = 1e6;

// Returns InvalidArgument unless `seconds` is above 0 and at most
// kMaxTimeoutSeconds.
inline Status CheckTimeout(double seconds) {
  if (seconds > 0 && seconds <= kMaxTimeoutSeconds) return Status();
  return InvalidArgument("timeout must be above 0 and at most ",
                         NumberText(kMaxTimeoutSeconds), " seconds, received ",
                         NumberText(seconds));
}

}  // namespace persia

#endif  // PERSIA_CC_CAPI_TIMEOUT_H_
