// TLS settings, as the C interface accepts them.

#ifndef PERSIA_CC_CAPI_TLS_H_
#define PERSIA_CC_CAPI_TLS_H_

#include <memory>

#include "cc/base/status.h"
#include "cc/capi/persia.h"
#include "cc/capi/text.h"
#include "cc/tls/tls_context.h"

namespace persia {

// Null if `tls` is empty. Errors are those of MakeTlsContext.
inline Result<std::shared_ptr<TlsContext>> TlsOf(const persia_tls& tls) {
  const TlsCredentials credentials{TextOrNone(tls.certificate),
                                   TextOrNone(tls.key), TextOrNone(tls.ca)};
  if (credentials.empty()) return std::shared_ptr<TlsContext>();
  return MakeTlsContext(credentials);
}

}  // namespace persia

#endif  // PERSIA_CC_CAPI_TLS_H_
