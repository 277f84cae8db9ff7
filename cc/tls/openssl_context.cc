#include <openssl/err.h>
#include <openssl/pem.h>

#include <utility>
#include <vector>

#include "cc/tls/openssl.h"
#include "cc/tls/tls_context.h"

namespace persia {
namespace {

// The cipher with the shorter key comes first. It is a third faster, and as
// safe for data that is secret only as long as a connection lasts.
constexpr char kCiphers[] =
    "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:"
    "TLS_CHACHA20_POLY1305_SHA256";

// Without this function, OpenSSL would ask on the terminal for the password of
// an encrypted key.
int NoPassword(char*, int, int, void*) { return 0; }

BioPtr ReaderOf(const std::string& pem) {
  return BioPtr(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

Result<std::vector<CertificatePtr>> ReadCertificates(const char* name,
                                                     const std::string& pem) {
  const BioPtr reader = ReaderOf(pem);
  std::vector<CertificatePtr> certificates;
  ERR_clear_error();
  while (X509* certificate =
             PEM_read_bio_X509(reader.get(), nullptr, NoPassword, nullptr)) {
    certificates.emplace_back(certificate);
  }
  const bool at_end =
      ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string reason = TakeReason();
  if (!certificates.empty() && at_end) return certificates;
  return InvalidArgument(name, " must be one or more certificates in PEM (",
                         reason, ")");
}

Result<KeyPtr> ReadKey(const std::string& pem) {
  const BioPtr reader = ReaderOf(pem);
  ERR_clear_error();
  KeyPtr key(
      PEM_read_bio_PrivateKey(reader.get(), nullptr, NoPassword, nullptr));
  const std::string reason = TakeReason();
  if (key != nullptr) return key;
  return InvalidArgument(
      "tls_key must be a private key in PEM, without a password (", reason,
      ")");
}

Status UseCertificate(SSL_CTX* context, const std::string& pem) {
  auto chain = ReadCertificates("tls_certificate", pem);
  if (!chain.ok()) return chain.status();
  bool used = SSL_CTX_use_certificate(context, chain->front().get()) == 1;
  for (size_t i = 1; used && i < chain->size(); ++i) {
    used = SSL_CTX_add1_chain_cert(context, (*chain)[i].get()) == 1;
  }
  if (used) return Status();
  return InvalidArgument("tls_certificate cannot be used (", TakeReason(), ")");
}

Status UseKey(SSL_CTX* context, const std::string& pem) {
  auto key = ReadKey(pem);
  if (!key.ok()) return key.status();
  if (SSL_CTX_use_PrivateKey(context, key->get()) == 1) return Status();
  return InvalidArgument("tls_key must be the key of tls_certificate (",
                         TakeReason(), ")");
}

Status UseAuthorities(SSL_CTX* context, const std::string& pem) {
  auto authorities = ReadCertificates("tls_ca", pem);
  if (!authorities.ok()) return authorities.status();
  X509_STORE* const store = SSL_CTX_get_cert_store(context);
  for (const CertificatePtr& authority : *authorities) {
    if (X509_STORE_add_cert(store, authority.get()) == 1) continue;
    return InvalidArgument("tls_ca cannot be used (", TakeReason(), ")");
  }
  return Status();
}

Status CheckAllGiven(const TlsCredentials& credentials) {
  for (const auto& [name, text] :
       {std::pair("tls_certificate", &credentials.certificate),
        std::pair("tls_key", &credentials.key),
        std::pair("tls_ca", &credentials.ca)}) {
    if (!text->empty()) continue;
    return InvalidArgument(
        "TLS is mutual, and needs a certificate, its key and "
        "the authority of the peers' certificates: ",
        name, " is missing");
  }
  return Status();
}

bool SetRules(SSL_CTX* context) {
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     nullptr);
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  // With these modes, a write may encrypt a single record, and its retry may
  // pass the same bytes at another address.
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  return SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
         SSL_CTX_set_num_tickets(context, 0) == 1 &&
         SSL_CTX_set_ciphersuites(context, kCiphers) == 1;
}

class OpenSslContext : public TlsContext {
 public:
  explicit OpenSslContext(SslContextPtr context)
      : context_(std::move(context)) {}

  Result<std::unique_ptr<TlsSession>> NewServerSession() override {
    return MakeOpenSslSession(context_.get(), nullptr);
  }

  Result<std::unique_ptr<TlsSession>> NewClientSession(
      const std::string& host) override {
    return MakeOpenSslSession(context_.get(), &host);
  }

 private:
  const SslContextPtr context_;
};

}  // namespace

bool StartOpenSsl() {
  static const bool started =
      OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_NO_ATEXIT,
                       nullptr) == 1;
  return started;
}

Result<std::shared_ptr<TlsContext>> MakeTlsContext(
    const TlsCredentials& credentials) {
  PERSIA_RETURN_IF_ERROR(CheckAllGiven(credentials));
  SslContextPtr context(StartOpenSsl() ? SSL_CTX_new(TLS_method()) : nullptr);
  if (context == nullptr || !SetRules(context.get())) {
    return Status(Code::kInternal, Concat("TLS cannot start: ", TakeReason()));
  }
  PERSIA_RETURN_IF_ERROR(
      UseCertificate(context.get(), credentials.certificate));
  PERSIA_RETURN_IF_ERROR(UseKey(context.get(), credentials.key));
  PERSIA_RETURN_IF_ERROR(UseAuthorities(context.get(), credentials.ca));
  return std::shared_ptr<TlsContext>(
      std::make_shared<OpenSslContext>(std::move(context)));
}

}  // namespace persia
