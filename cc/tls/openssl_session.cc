#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <utility>

#include "cc/tls/openssl.h"

namespace persia {
namespace {

// The size of the buffer for each direction, which limits what one system call
// moves. It holds several records, of up to 16 KiB each, so that calls are few.
constexpr size_t kBufferBytes = 128 << 10;

class OpenSslSession : public TlsSession {
 public:
  // `wire` is the other end of the BIO pair that `ssl` reads and writes.
  OpenSslSession(SslPtr ssl, BioPtr wire, std::string host)
      : ssl_(std::move(ssl)), wire_(std::move(wire)), host_(std::move(host)) {}

  Result<bool> Handshake() override {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    if (result == 1) return is_known_ = true;
    return OfFailure<bool>(result);
  }

  Result<size_t> Decrypt(MutableBytes to) override {
    ERR_clear_error();
    size_t bytes = 0;
    const int result = SSL_read_ex(ssl_.get(), to.data(), to.size(), &bytes);
    if (result == 1) return bytes;
    return OfFailure<size_t>(result);
  }

  bool peer_has_ended() const override {
    return (SSL_get_shutdown(ssl_.get()) & SSL_RECEIVED_SHUTDOWN) != 0;
  }

  Result<size_t> Encrypt(ConstBytes from) override {
    ERR_clear_error();
    size_t bytes = 0;
    const int result =
        SSL_write_ex(ssl_.get(), from.data(), from.size(), &bytes);
    if (result == 1) return bytes;
    return OfFailure<size_t>(result);
  }

  void End() override {
    ERR_clear_error();
    SSL_shutdown(ssl_.get());
  }

  MutableBytes InputRoom() override {
    char* room = nullptr;
    const int bytes = BIO_nwrite0(wire_.get(), &room);
    return MutableBytes(reinterpret_cast<uint8_t*>(room), CountOf(bytes));
  }

  void AddInput(size_t bytes) override {
    char* begin = nullptr;
    BIO_nwrite(wire_.get(), &begin, static_cast<int>(bytes));
  }

  ConstBytes Output() override {
    char* output = nullptr;
    const int bytes = BIO_nread0(wire_.get(), &output);
    return ConstBytes(reinterpret_cast<const uint8_t*>(output), CountOf(bytes));
  }

  void DropOutput(size_t bytes) override {
    char* begin = nullptr;
    BIO_nread(wire_.get(), &begin, static_cast<int>(bytes));
  }

 private:
  static size_t CountOf(int bytes) {
    return bytes > 0 ? static_cast<size_t>(bytes) : 0;
  }

  // Returns false or 0 if the call needs more input or output, or if the peer
  // has ended the connection. Otherwise returns the error.
  template <typename T>
  Result<T> OfFailure(int result) {
    switch (SSL_get_error(ssl_.get(), result)) {
      case SSL_ERROR_WANT_READ:
      case SSL_ERROR_WANT_WRITE:
      case SSL_ERROR_ZERO_RETURN:
        return T();
      default:
        return TakeSslError(ssl_.get(), host_, is_known_);
    }
  }

  const SslPtr ssl_;
  const BioPtr wire_;
  const std::string host_;
  bool is_known_ = false;  // Whether a handshake was completed.
};

// Sets the host that the server's certificate must name. If `host` is a name,
// it is also sent to the server (SNI), which may have several names. An IP
// address is not sent.
bool Expect(SSL* ssl, const std::string& host) {
  X509_VERIFY_PARAM* const rules = SSL_get0_param(ssl);
  X509_VERIFY_PARAM_set_hostflags(rules,
                                  X509_CHECK_FLAG_NEVER_CHECK_SUBJECT |
                                      X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  if (X509_VERIFY_PARAM_set1_ip_asc(rules, host.c_str()) == 1) return true;
  return X509_VERIFY_PARAM_set1_host(rules, host.data(), host.size()) == 1 &&
         SSL_set_tlsext_host_name(ssl, host.c_str()) == 1;
}

}  // namespace

Result<std::unique_ptr<TlsSession>> MakeOpenSslSession(
    SSL_CTX* context, const std::string* host) {
  ERR_clear_error();
  SslPtr ssl(SSL_new(context));
  BIO* inner = nullptr;
  BIO* outer = nullptr;
  const bool made =
      ssl != nullptr &&
      BIO_new_bio_pair(&inner, kBufferBytes, &outer, kBufferBytes) == 1;
  BioPtr wire(outer);
  // `ssl` owns `inner` from now on.
  if (made) SSL_set_bio(ssl.get(), inner, inner);
  if (!made || (host != nullptr && !Expect(ssl.get(), *host))) {
    return Status(Code::kResourceExhausted,
                  Concat("no memory for a TLS connection: ", TakeReason()));
  }
  host == nullptr ? SSL_set_accept_state(ssl.get())
                  : SSL_set_connect_state(ssl.get());
  return std::unique_ptr<TlsSession>(std::make_unique<OpenSslSession>(
      std::move(ssl), std::move(wire), host == nullptr ? "" : *host));
}

}  // namespace persia
