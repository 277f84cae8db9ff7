// The OpenSSL helpers that this module's files share. No other module includes
// this header or the headers of OpenSSL.

#ifndef PERSIA_CC_TLS_OPENSSL_H_
#define PERSIA_CC_TLS_OPENSSL_H_

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

#include "cc/base/status.h"
#include "cc/tls/tls_session.h"

namespace persia {

template <auto free>
struct FreeBy {
  template <typename T>
  void operator()(T* object) const {
    free(object);
  }
};

using SslContextPtr = std::unique_ptr<SSL_CTX, FreeBy<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, FreeBy<SSL_free>>;
using BioPtr = std::unique_ptr<BIO, FreeBy<BIO_free>>;
using CertificatePtr = std::unique_ptr<X509, FreeBy<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreeBy<EVP_PKEY_free>>;

// Initializes OpenSSL; returns false if OpenSSL cannot start. Call it before
// any other function of OpenSSL. This copy of OpenSSL is private to this
// library. It reads no configuration file, since that could load modules that
// are built for another copy. It is not torn down at exit, when threads may
// still use it.
bool StartOpenSsl();

// Makes a client's session for a connection to `host`, or a server's session if
// `host` is null.
Result<std::unique_ptr<TlsSession>> MakeOpenSslSession(SSL_CTX* context,
                                                       const std::string* host);

// Returns why the last call with `ssl` failed, as one of TlsSession's errors.
// `host` is "" at a server. `is_known` tells whether the handshake has been
// completed; once it has, bytes that are not valid TLS must have been modified
// in transit. Empties OpenSSL's error queue of this thread.
Status TakeSslError(const SSL* ssl, const std::string& host, bool is_known);

// Returns the newest error in OpenSSL's error queue of this thread, as text.
// Empties the queue.
std::string TakeReason();

}  // namespace persia

#endif  // PERSIA_CC_TLS_OPENSSL_H_
