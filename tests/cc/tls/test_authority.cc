#include "tests/cc/tls/test_authority.h"

#include <gtest/gtest.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "cc/tls/openssl.h"

namespace persia {
namespace {

constexpr char kAuthorityName[] = "an authority of a test";

KeyPtr NewKey() { return KeyPtr(EVP_EC_gen("P-256")); }

std::string TextOf(BIO* bio) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);
  return std::string(text, static_cast<size_t>(size));
}

BioPtr NewText() { return BioPtr(BIO_new(BIO_s_mem())); }

std::string PemOf(X509* certificate) {
  const BioPtr text = NewText();
  EXPECT_EQ(PEM_write_bio_X509(text.get(), certificate), 1);
  return TextOf(text.get());
}

std::string PemOf(EVP_PKEY* key) {
  const BioPtr text = NewText();
  EXPECT_EQ(PEM_write_bio_PKCS8PrivateKey(text.get(), key, nullptr, nullptr, 0,
                                          nullptr, nullptr),
            1);
  return TextOf(text.get());
}

void SetName(X509_NAME* name, const char* common_name) {
  X509_NAME_add_entry_by_txt(
      name, "CN", MBSTRING_ASC,
      reinterpret_cast<const unsigned char*>(common_name), -1, -1, 0);
}

void Extend(X509* certificate, X509* issuer, int what, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension =
      X509V3_EXT_conf_nid(nullptr, &context, what, value);
  ASSERT_NE(extension, nullptr) << value;
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

// Not signed yet.
CertificatePtr NewCertificate(const char* common_name, EVP_PKEY* key,
                              long seconds) {
  static long serial = 0;
  CertificatePtr certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -kHour);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), seconds);
  X509_set_pubkey(certificate.get(), key);
  SetName(X509_get_subject_name(certificate.get()), common_name);
  return certificate;
}

}  // namespace

struct TestAuthority::Holder {
  KeyPtr key = NewKey();
  CertificatePtr certificate;
};

TestAuthority::TestAuthority() : holder_(std::make_unique<Holder>()) {
  X509* const certificate = (holder_->certificate = NewCertificate(
                                 kAuthorityName, holder_->key.get(), kHour))
                                .get();
  SetName(X509_get_issuer_name(certificate), kAuthorityName);
  Extend(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
  EXPECT_NE(X509_sign(certificate, holder_->key.get(), EVP_sha256()), 0);
}

TestAuthority::~TestAuthority() = default;

std::string TestAuthority::certificate() const {
  return PemOf(holder_->certificate.get());
}

TlsCredentials TestAuthority::Issue(const std::string& names,
                                    long seconds) const {
  const KeyPtr key = NewKey();
  // The common name is one of the server's names; clients look at other fields.
  const CertificatePtr issued = NewCertificate("localhost", key.get(), seconds);
  X509_set_issuer_name(issued.get(),
                       X509_get_subject_name(holder_->certificate.get()));
  Extend(issued.get(), holder_->certificate.get(), NID_subject_alt_name,
         names.c_str());
  EXPECT_NE(X509_sign(issued.get(), holder_->key.get(), EVP_sha256()), 0);
  return {PemOf(issued.get()), PemOf(key.get()), certificate()};
}

std::shared_ptr<TlsContext> TestAuthority::MakeContext() const {
  return ContextOf(Issue());
}

std::shared_ptr<TlsContext> ContextOf(const TlsCredentials& credentials) {
  auto context = MakeTlsContext(credentials);
  EXPECT_TRUE(context.ok()) << context.status().message();
  return context.ok() ? *context : nullptr;
}

std::string Encrypted(const std::string& key) {
  const BioPtr plain(BIO_new_mem_buf(key.data(), static_cast<int>(key.size())));
  const KeyPtr read(
      PEM_read_bio_PrivateKey(plain.get(), nullptr, nullptr, nullptr));
  const BioPtr text = NewText();
  EXPECT_EQ(
      PEM_write_bio_PKCS8PrivateKey(text.get(), read.get(), EVP_aes_128_cbc(),
                                    "word", 4, nullptr, nullptr),
      1);
  return TextOf(text.get());
}

}  // namespace persia
