// TestAuthority: signs certificates for one test. All keys are new, and exist
// only in the test's memory.

#ifndef PERSIA_TESTS_CC_TLS_TEST_AUTHORITY_H_
#define PERSIA_TESTS_CC_TLS_TEST_AUTHORITY_H_

#include <memory>
#include <string>

#include "cc/tls/tls_context.h"

namespace persia {

inline constexpr long kHour = 3600;  // In seconds, as OpenSSL takes them.

class TestAuthority {
 public:
  TestAuthority();
  ~TestAuthority();

  // Its own certificate. Every authority has the same name.
  std::string certificate() const;

  // A certificate for `names`, in OpenSSL's notation, and this authority as the
  // one that its holder trusts. Valid from an hour ago until `seconds` from
  // now.
  TlsCredentials Issue(const std::string& names = "IP:127.0.0.1,DNS:localhost",
                       long seconds = kHour) const;

  // The same, ready for use.
  std::shared_ptr<TlsContext> MakeContext() const;

 private:
  struct Holder;
  const std::unique_ptr<Holder> holder_;
};

// A context of credentials that must be valid.
std::shared_ptr<TlsContext> ContextOf(const TlsCredentials& credentials);

// The same key, in PEM with a password.
std::string Encrypted(const std::string& key);

}  // namespace persia

#endif  // PERSIA_TESTS_CC_TLS_TEST_AUTHORITY_H_
