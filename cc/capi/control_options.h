// ControlOptionsOf: the options of a client that a program for operators makes,
// which watches shards or changes their cluster.

#ifndef PERSIA_CC_CAPI_CONTROL_OPTIONS_H_
#define PERSIA_CC_CAPI_CONTROL_OPTIONS_H_

#include <utility>

#include "cc/base/status.h"
#include "cc/capi/text.h"
#include "cc/capi/timeout.h"
#include "cc/capi/tls.h"
#include "cc/client/remote_service.h"

namespace persia {

// `auth_token` and `tls` may be null. Returns kInvalidArgument if an argument
// is invalid.
inline Result<RemoteServiceOptions> ControlOptionsOf(const char* auth_token,
                                                     const persia_tls* tls,
                                                     double timeout_seconds) {
  PERSIA_RETURN_IF_ERROR(CheckTimeout(timeout_seconds));
  RemoteServiceOptions options;
  options.auth_token = TextOrNone(auth_token);
  auto context = TlsOf(tls == nullptr ? persia_tls{} : *tls);
  if (!context.ok()) return context.status();
  options.tls = std::move(*context);
  return options;
}

}  // namespace persia

#endif  // PERSIA_CC_CAPI_CONTROL_OPTIONS_H_
