// ReportStatus: converts a Status to the C interface's status code and message.

#ifndef PERSIA_CC_CAPI_ERROR_H_
#define PERSIA_CC_CAPI_ERROR_H_

#include "cc/base/status.h"

namespace persia {

// Stores the message of `status`, which persia_last_error returns on this
// thread, and returns the status code.
int ReportStatus(const Status& status);

}  // namespace persia

#endif  // PERSIA_CC_CAPI_ERROR_H_
