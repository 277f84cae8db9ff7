// The OpenSSL helpers that this module's files share; no other module sees
// OpenSSL.

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

// A client's session for a connection to `host` if that is given, otherwise a
// server's.
Result<std::unique_ptr<TlsSession>> MakeOpenSslSession(SSL_CTX* context,
                                                       const std::string* host);

// Why the last call with `ssl` failed, as one of TlsSession's errors. `host` is
// "" at a server. `is_known`: the handshake was completed, so the bytes
// received are TLS, or were modified in transit. Empties this thread's error
// queue.
Status TakeSslError(const SSL* ssl, const std::string& host, bool is_known);

// The newest error in this thread's queue, as text. Empties the queue.
std::string TakeReason();

}  // namespace persia

#endif  // PERSIA_CC_TLS_OPENSSL_H_
