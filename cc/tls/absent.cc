// MakeTlsContext for a build without OpenSSL.

#ifdef PERSIA_WITHOUT_TLS

#include "cc/tls/tls_context.h"

namespace persia {

Result<std::shared_ptr<TlsContext>> MakeTlsContext(const TlsCredentials&) {
  return Status(Code::kUnimplemented,
                "this build of persia_tf has no TLS, since it found no static "
                "OpenSSL: install libssl-dev and build it again; or give no "
                "--tls-certificate, --tls-key and --tls-ca");
}

}  // namespace persia

#endif  // PERSIA_WITHOUT_TLS
