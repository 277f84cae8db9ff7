// TlsContext: what a process needs to speak TLS, made once of its credentials.
//
// TLS is mutual: each end shows a certificate, and takes those that its
// authorities have signed; a client also wants the server's name in it, as it
// was given in the address. Only version 1.3 is spoken, and no session is
// resumed, so each connection is checked anew.
//
// Thread-safe; its sessions need it no longer once they are made.

#ifndef PERSIA_CC_TLS_TLS_CONTEXT_H_
#define PERSIA_CC_TLS_TLS_CONTEXT_H_

#include <memory>
#include <string>

#include "cc/base/status.h"
#include "cc/tls/tls_session.h"

namespace persia {

// Texts in PEM.
struct TlsCredentials {
  std::string certificate;  // This end's, then those that lead to a `ca`'s.
  std::string key;          // The certificate's; not encrypted.
  std::string ca;           // The authorities that sign peers' certificates.

  bool empty() const {
    return certificate.empty() && key.empty() && ca.empty();
  }
};

class TlsContext {
 public:
  virtual ~TlsContext() = default;

  // kResourceExhausted without memory.
  virtual Result<std::unique_ptr<TlsSession>> NewServerSession() = 0;
  // `host` is the server's name, or its IP address without brackets.
  virtual Result<std::unique_ptr<TlsSession>> NewClientSession(
      const std::string& host) = 0;
};

// kInvalidArgument if one of the texts is missing or is not what it must be;
// kUnimplemented in a build without TLS.
Result<std::shared_ptr<TlsContext>> MakeTlsContext(
    const TlsCredentials& credentials);

}  // namespace persia

#endif  // PERSIA_CC_TLS_TLS_CONTEXT_H_
