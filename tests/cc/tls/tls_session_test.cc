// Two ends that agree on TLS, and ends that do not.

#include "cc/tls/tls_session.h"

#include <gtest/gtest.h>

#include "cc/tls/openssl.h"
#include "tests/cc/tls/joined_sessions.h"
#include "tests/cc/tls/test_authority.h"

namespace persia {
namespace {

std::vector<uint8_t> Numbers(size_t count) {
  std::vector<uint8_t> numbers(count);
  for (size_t i = 0; i < count; ++i) {
    numbers[i] = static_cast<uint8_t>(i ^ i >> 8);
  }
  return numbers;
}

// Sends all bytes, through the smallest possible buffer.
std::vector<uint8_t> Send(TlsSession* from, TlsSession* to,
                          const std::vector<uint8_t>& sent) {
  std::vector<uint8_t> received(sent.size());
  size_t written = 0;
  size_t read = 0;
  while (read < sent.size()) {
    size_t moved = 0;
    if (written < sent.size()) {
      const auto bytes = from->Encrypt(ConstBytes(sent).subspan(written));
      EXPECT_TRUE(bytes.ok()) << bytes.status().message();
      if (!bytes.ok()) break;
      written += *bytes;
      moved += *bytes;
    }
    if (moved > 0) continue;  // More may fit.
    moved += Carry(from, to);
    const auto bytes = to->Decrypt(MutableBytes(received).subspan(read));
    EXPECT_TRUE(bytes.ok()) << bytes.status().message();
    if (!bytes.ok() || (*bytes == 0 && moved == 0)) break;
    read += *bytes;
  }
  received.resize(read);
  return received;
}

class TlsSessionTest : public testing::Test {
 protected:
  void ExpectPart(const Status& status, Code code, const std::string& part) {
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_NE(status.message().find(part), std::string::npos)
        << status.message();
  }

  // The client finds the server's certificate wrong, and the server is told.
  void ExpectServerRefused(const TlsCredentials& server,
                           const std::string& host, const std::string& part) {
    JoinedSessions ends(context_.get(), ContextOf(server).get(), host);
    ends.ShakeHands();
    EXPECT_FALSE(ends.is_done);
    ExpectPart(ends.of_client, Code::kPermissionDenied, part);
    EXPECT_EQ(ends.of_server.code(), Code::kPermissionDenied)
        << ends.of_server.message();
  }

  // The server refuses the client's certificate, which the client learns last.
  void ExpectClientRefused(const TlsCredentials& client,
                           const std::string& part) {
    JoinedSessions ends(ContextOf(client).get(), context_.get());
    ends.ShakeHands();
    EXPECT_EQ(ends.of_server.code(), Code::kPermissionDenied)
        << ends.of_server.message();
    uint8_t byte;
    const auto told = ends.client->Decrypt(MutableBytes(&byte, 1));
    ASSERT_FALSE(told.ok());
    ExpectPart(told.status(), Code::kPermissionDenied, part);
  }

  const TestAuthority authority_;
  const std::shared_ptr<TlsContext> context_ = authority_.MakeContext();
};

TEST_F(TlsSessionTest, BothWaysCarryWhatWasSent) {
  JoinedSessions ends(context_.get(), context_.get());
  ends.ShakeHands();
  ASSERT_TRUE(ends.is_done) << ends.of_client.message();
  for (const size_t size : {1, 100, 16384, 16385, 1 << 20}) {
    const auto numbers = Numbers(size);
    EXPECT_EQ(Send(ends.client.get(), ends.server.get(), numbers), numbers);
    EXPECT_EQ(Send(ends.server.get(), ends.client.get(), numbers), numbers);
  }
}

TEST_F(TlsSessionTest, NothingIsSentAsItIs) {
  JoinedSessions ends(context_.get(), context_.get());
  ends.ShakeHands();
  const std::string secret(64, 's');
  const auto* bytes = reinterpret_cast<const uint8_t*>(secret.data());
  ASSERT_TRUE(ends.client->Encrypt(ConstBytes(bytes, secret.size())).ok());
  const ConstBytes output = ends.client->Output();
  EXPECT_EQ(std::search(output.begin(), output.end(), bytes, bytes + 8),
            output.end());
}

TEST_F(TlsSessionTest, FullOutputTakesNoMoreAndThenGoesOn) {
  JoinedSessions ends(context_.get(), context_.get());
  ends.ShakeHands();
  const auto numbers = Numbers(16384);
  size_t written = 0;
  for (;;) {
    const auto bytes = ends.client->Encrypt(numbers);
    ASSERT_TRUE(bytes.ok());
    if (*bytes == 0) break;
    written += *bytes;
    ASSERT_LT(written, size_t{1} << 20);
  }
  EXPECT_GT(Carry(ends.client.get(), ends.server.get()), 0u);
  const auto bytes = ends.client->Encrypt(numbers);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(*bytes, numbers.size());
}

TEST_F(TlsSessionTest, EndIsToldAndACutIsNone) {
  JoinedSessions ends(context_.get(), context_.get());
  ends.ShakeHands();
  uint8_t byte;
  EXPECT_EQ(*ends.server->Decrypt(MutableBytes(&byte, 1)), 0u);
  EXPECT_FALSE(ends.server->peer_has_ended());
  ends.client->End();
  Carry(ends.client.get(), ends.server.get());
  EXPECT_EQ(*ends.server->Decrypt(MutableBytes(&byte, 1)), 0u);
  EXPECT_TRUE(ends.server->peer_has_ended());
}

TEST_F(TlsSessionTest, ChangedByteIsFound) {
  JoinedSessions ends(context_.get(), context_.get());
  ends.ShakeHands();
  ASSERT_TRUE(ends.client->Encrypt(Numbers(100)).ok());
  std::vector<uint8_t> record(ends.client->Output().begin(),
                              ends.client->Output().end());
  record[50] ^= 1;
  std::copy(record.begin(), record.end(), ends.server->InputRoom().begin());
  ends.server->AddInput(record.size());
  uint8_t byte;
  const auto read = ends.server->Decrypt(MutableBytes(&byte, 1));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.status().code(), Code::kDataLoss) << read.status().message();
}

TEST_F(TlsSessionTest, ServerIsKnownByItsNamesAlone) {
  const TlsCredentials named = authority_.Issue("DNS:ps-0.shards,IP:10.0.0.1");
  for (const char* host : {"ps-0.shards", "10.0.0.1"}) {
    JoinedSessions ends(context_.get(), ContextOf(named).get(), host);
    ends.ShakeHands();
    EXPECT_TRUE(ends.is_done) << host << ": " << ends.of_client.message();
  }
  for (const char* host : {"ps-1.shards", "shards", "10.0.0.2", "127.0.0.1"}) {
    ExpectServerRefused(named, host,
                        Concat("the server's certificate is not for ", host,
                               ": issue one whose subjectAltName"));
  }
}

TEST_F(TlsSessionTest, ServerOfAnotherNameIsToldWhichNameItNeeds) {
  const TlsCredentials named = authority_.Issue("IP:10.0.0.1");
  JoinedSessions ends(context_.get(), ContextOf(named).get(), "127.0.0.1");
  ends.ShakeHands();
  ExpectPart(ends.of_server, Code::kPermissionDenied,
             "subjectAltName has the name or IP address by which the peer "
             "connects, and give both ends certificates of one authority");
}

TEST_F(TlsSessionTest, CommonNameIsNone) {
  ExpectServerRefused(authority_.Issue("IP:10.0.0.1"), "localhost",
                      "the server's certificate is not for localhost");
}

// Clients that a TlsContext never makes: without a certificate, or of an older
// version of TLS.
TEST_F(TlsSessionTest, ClientsOfOtherRulesAreRefused) {
  const std::string host = "127.0.0.1";
  for (const bool is_old : {false, true}) {
    const SslContextPtr bare(SSL_CTX_new(TLS_method()));
    if (is_old) SSL_CTX_set_max_proto_version(bare.get(), TLS1_2_VERSION);
    const auto client = std::move(*MakeOpenSslSession(bare.get(), &host));
    const auto server = std::move(*context_->NewServerSession());
    Result<bool> is_done = false;
    size_t moved = 1;
    while (moved > 0 && is_done.ok()) {
      EXPECT_TRUE(client->Handshake().ok());
      moved = Carry(client.get(), server.get());
      is_done = server->Handshake();
      moved += Carry(server.get(), client.get());
    }
    EXPECT_FALSE(is_done.ok() && *is_done);
    EXPECT_EQ(is_done.status().code(),
              is_old ? Code::kDataLoss : Code::kPermissionDenied)
        << is_done.status().message();
  }
}

TEST_F(TlsSessionTest, AddressOfSixteenBytesIsAName) {
  JoinedSessions ends(context_.get(),
                      ContextOf(authority_.Issue("IP:::1")).get(), "::1");
  ends.ShakeHands();
  EXPECT_TRUE(ends.is_done) << ends.of_client.message();
}

TEST_F(TlsSessionTest, OtherAuthorityIsRefusedOnBothSides) {
  const TestAuthority other;
  TlsCredentials stranger = other.Issue();
  ExpectServerRefused(stranger, "127.0.0.1", "give both ends certificates of");
  // This client trusts the server's certificate, so it is the server that
  // refuses.
  stranger.ca = authority_.certificate();
  ExpectClientRefused(stranger, "the peer refused this end's certificate");
}

TEST_F(TlsSessionTest, ExpiredCertificateIsRefusedOnBothSides) {
  const auto expired = authority_.Issue("IP:127.0.0.1", -1);
  ExpectServerRefused(
      expired, "127.0.0.1",
      "the server's certificate has expired: give it a new one");
  ExpectClientRefused(expired,
                      "refused this process's expired certificate: give it a "
                      "new one");
}

TEST_F(TlsSessionTest, PeersWithoutTlsAreToldFromOthers) {
  for (const std::string& sent :
       {std::string("PRS1\4\0\1\0", 8) + std::string(32, '\0'),
        std::string("GET / HTTP/1.1\r\nHost: shard\r\n\r\n")}) {
    for (const bool at_server : {true, false}) {
      auto session = at_server ? context_->NewServerSession()
                               : context_->NewClientSession("127.0.0.1");
      TlsSession* const end = session->get();
      EXPECT_TRUE(end->Handshake().ok());
      std::copy(sent.begin(), sent.end(), end->InputRoom().begin());
      end->AddInput(sent.size());
      ExpectPart(end->Handshake().status(), Code::kUnauthenticated,
                 at_server ? "this server wants TLS" : "does not speak TLS");
    }
  }
}

// ---- Credentials.

class TlsCredentialsTest : public testing::Test {
 protected:
  void ExpectRefused(const TlsCredentials& credentials,
                     const std::string& part) {
    const auto context = MakeTlsContext(credentials);
    ASSERT_FALSE(context.ok());
    EXPECT_EQ(context.status().code(), Code::kInvalidArgument);
    EXPECT_NE(context.status().message().find(part), std::string::npos)
        << context.status().message();
  }

  const TestAuthority authority_;
  TlsCredentials credentials_ = authority_.Issue();
};

TEST_F(TlsCredentialsTest, EachIsNeeded) {
  for (const auto& [name, member] :
       {std::pair("tls_certificate", &TlsCredentials::certificate),
        std::pair("tls_key", &TlsCredentials::key),
        std::pair("tls_ca", &TlsCredentials::ca)}) {
    TlsCredentials some = credentials_;
    (some.*member).clear();
    ExpectRefused(some, Concat(name, " is missing"));
    some.*member = "no PEM";
    ExpectRefused(some, Concat(name, " must be "));
  }
}

TEST_F(TlsCredentialsTest, CertificateThatIsCutShortIsRefused) {
  credentials_.ca.resize(credentials_.ca.size() / 2);
  ExpectRefused(credentials_, "tls_ca must be one or more certificates");
  credentials_ = authority_.Issue();
  credentials_.certificate +=
      credentials_.certificate.substr(0, credentials_.certificate.size() / 2);
  ExpectRefused(credentials_, "tls_certificate must be one or more");
}

TEST_F(TlsCredentialsTest, KeyOfAnotherCertificateIsRefused) {
  credentials_.key = authority_.Issue().key;
  ExpectRefused(credentials_, "tls_key must be the key of tls_certificate");
}

TEST_F(TlsCredentialsTest, KeyWithAPasswordIsRefusedAndNobodyIsAsked) {
  credentials_.key = Encrypted(credentials_.key);
  ExpectRefused(credentials_, "without a password");
}

}  // namespace
}  // namespace persia
