// Converts a Status to the C interface's code and message.

#ifndef PERSIA_CC_CAPI_ERROR_H_
#define PERSIA_CC_CAPI_ERROR_H_

#include "cc/base/status.h"

namespace persia {

// Stores the message for persia_last_error of this thread; returns the code.
int ReportStatus(const Status& status);

}  // namespace persia

#endif  // PERSIA_CC_CAPI_ERROR_H_
