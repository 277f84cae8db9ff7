// TlsContext: a process's TLS configuration, created once from its credentials.
//
// TLS is mutual: each end shows a certificate, and accepts certificates that
// its authorities have signed. A client also requires that the certificate
// names the host in the server's address. Only TLS 1.3 is used, and sessions
// are never resumed, so each connection is verified anew.
//
// Thread-safe; sessions may outlive the context that created them.

#ifndef PERSIA_CC_TLS_TLS_CONTEXT_H_
#define PERSIA_CC_TLS_TLS_CONTEXT_H_

#include <memory>
#include <string>

#include "cc/base/status.h"
#include "cc/tls/tls_session.h"

namespace persia {

// The TLS credentials of a process, as PEM texts.
struct TlsCredentials {
  std::string
      certificate;  // The process's certificate, then intermediate ones.
  std::string key;  // The certificate's private key; not encrypted.
  std::string ca;   // The authorities that sign peers' certificates.

  bool empty() const {
    return certificate.empty() && key.empty() && ca.empty();
  }
};

class TlsContext {
 public:
  virtual ~TlsContext() = default;

  // NewServerSession and NewClientSession return kResourceExhausted if there is
  // no memory.
  virtual Result<std::unique_ptr<TlsSession>> NewServerSession() = 0;
  // `host` is the server's name, or its IP address without brackets.
  virtual Result<std::unique_ptr<TlsSession>> NewClientSession(
      const std::string& host) = 0;
};

// Creates a context. Returns kInvalidArgument if one of the credentials is
// missing or not valid.
Result<std::shared_ptr<TlsContext>> MakeTlsContext(
    const TlsCredentials& credentials);

}  // namespace persia

#endif  // PERSIA_CC_TLS_TLS_CONTEXT_H_
