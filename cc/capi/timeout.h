// Time limits, as the C interface accepts them.

#ifndef PERSIA_CC_CAPI_TIMEOUT_H_
#define PERSIA_CC_CAPI_TIMEOUT_H_

#include "cc/base/number.h"
#include "cc/base/status.h"

namespace persia {

// The clock counts nanoseconds in 64 bits: far more than this would overflow.
inline constexpr double kMaxTimeoutSeconds = 1e6;

// InvalidArgument unless `seconds` is a valid time limit.
inline Status CheckTimeout(double seconds) {
  if (seconds > 0 && seconds <= kMaxTimeoutSeconds) return Status();
  return InvalidArgument("timeout must be above 0 and at most ",
                         NumberText(kMaxTimeoutSeconds), " seconds, received ",
                         NumberText(seconds));
}

}  // namespace persia

#endif  // PERSIA_CC_CAPI_TIMEOUT_H_
