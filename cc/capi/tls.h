// TlsOf: makes a TLS context from the PEM texts that the C interface received.

#ifndef PERSIA_CC_CAPI_TLS_H_
#define PERSIA_CC_CAPI_TLS_H_

#include <memory>

#include "cc/base/status.h"
#include "cc/capi/persia.h"
#include "cc/capi/text.h"
#include "cc/tls/tls_context.h"

namespace persia {

// Returns null if `tls` is empty, which means no TLS. Fails as MakeTlsContext
// does.
inline Result<std::shared_ptr<TlsContext>> TlsOf(const TlsCredentials& tls) {
  if (tls.empty()) return std::shared_ptr<TlsContext>();
  return MakeTlsContext(tls);
}

inline Result<std::shared_ptr<TlsContext>> TlsOf(const persia_tls& tls) {
  return TlsOf(TlsCredentials{TextOrNone(tls.certificate), TextOrNone(tls.key),
                              TextOrNone(tls.ca)});
}

}  // namespace persia

#endif  // PERSIA_CC_CAPI_TLS_H_
