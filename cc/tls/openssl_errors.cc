#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <utility>

#include "cc/tls/openssl.h"

namespace persia {
namespace {

Status Refused(const std::string& what, const std::string& remedy) {
  return Status(Code::kPermissionDenied, Concat(what, ": ", remedy));
}

constexpr char kSameAuthority[] =
    "give both ends certificates of one authority, and the authority's own as "
    "--tls-ca ($PERSIA_TLS_CA, ptf.TLS(ca=...))";

Status OfOtherName(const std::string& host) {
  return Refused(Concat("the server's certificate is not for ", host),
                 "issue one whose subjectAltName has that name or IP "
                 "address, or connect to a name that it has");
}

// The error if this end refuses the peer's certificate.
Status OfVerification(long result, const std::string& host) {
  const std::string whose =
      host.empty() ? "the client's certificate" : "the server's certificate";
  switch (result) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return OfOtherName(host);
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return Refused(whose + " has expired",
                     "give it a new one as --tls-certificate, and restart its "
                     "process");
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return Refused(whose + " is not valid yet",
                     "set both machines' clocks, or wait");
    default:
      return Refused(Concat("this end does not accept ", whose, " (",
                            X509_verify_cert_error_string(result), ")"),
                     kSameAuthority);
  }
}

// What to do if the peer refused this end's certificate by `alert`. A client of
// this library sends "bad certificate" to a server whose certificate has
// another name than the one by which the client connects.
std::string RemedyOfAlert(int alert, bool at_server) {
  if (!at_server || alert != SSL_AD_BAD_CERTIFICATE) return kSameAuthority;
  return Concat(
      "give this end a certificate whose subjectAltName has the name or IP "
      "address by which the peer connects, and ",
      kSameAuthority);
}

// The error for an alert that the peer sent.
Status OfAlert(int alert, const std::string& reason, bool at_server) {
  switch (alert) {
    case SSL_AD_PROTOCOL_VERSION:
      if (at_server) break;
      return Status(Code::kUnauthenticated,
                    "the server has no TLS 1.3: start it with "
                    "--tls-certificate, --tls-key and --tls-ca, or give the "
                    "client none of them");
    case SSL_AD_CERTIFICATE_EXPIRED:
      return Refused("the peer refused this process's expired certificate",
                     "give it a new one as --tls-certificate "
                     "($PERSIA_TLS_CERTIFICATE, ptf.TLS(certificate=...))");
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
    case SSL_AD_DECRYPT_ERROR:  // A signature is wrong.
    case SSL_AD_CERTIFICATE_REQUIRED:
      return Refused(
          Concat("the peer refused this end's certificate (", reason, ")"),
          RemedyOfAlert(alert, at_server));
    default:
      break;
  }
  return Status(Code::kDataLoss,
                Concat("the peer ended the TLS connection (", reason, ")"));
}

// Whether the error says that the received bytes are not TLS at all. OpenSSL
// recognizes some other protocols, such as HTTP.
bool IsOfAnotherProtocol(int reason) {
  return reason == SSL_R_WRONG_VERSION_NUMBER || reason == SSL_R_HTTP_REQUEST ||
         reason == SSL_R_HTTPS_PROXY_REQUEST;
}

Status NotSpoken(const std::string& host) {
  return Status(
      Code::kUnauthenticated,
      host.empty()
          ? "this server wants TLS: give the client --tls-certificate, "
            "--tls-key "
            "and --tls-ca, $PERSIA_TLS_CERTIFICATE, $PERSIA_TLS_KEY and "
            "$PERSIA_TLS_CA, or Cluster(tls=ptf.TLS(...))"
          : "the process at this address does not speak TLS: start the server "
            "with --tls-certificate, --tls-key and --tls-ca, or give the "
            "client none of them; is another program at this address?");
}

}  // namespace

std::string TakeReason() {
  const char* const reason = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return reason == nullptr ? "no reason is known" : reason;
}

Status TakeSslError(const SSL* ssl, const std::string& host, bool is_known) {
  const int code = ERR_GET_REASON(ERR_peek_last_error());
  const std::string reason = TakeReason();
  if (code == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    return OfVerification(SSL_get_verify_result(ssl), host);
  }
  if (code == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) {
    return Refused("the client has no certificate", kSameAuthority);
  }
  if (code > SSL_AD_REASON_OFFSET && code <= SSL_AD_REASON_OFFSET + 255) {
    return OfAlert(code - SSL_AD_REASON_OFFSET, reason, host.empty());
  }
  if (!is_known && IsOfAnotherProtocol(code)) return NotSpoken(host);
  return Status(Code::kDataLoss,
                Concat("the received bytes are not valid TLS 1.3: ", reason));
}

}  // namespace persia
