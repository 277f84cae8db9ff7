// Clients and servers with TLS, among them some that must not connect.

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "cc/wire/messages.h"
#include "tests/cc/client/handshake_outcomes.h"
#include "tests/cc/client/shards_fixture.h"
#include "tests/cc/support/handshake_frames.h"
#include "tests/cc/support/raw_socket.h"
#include "tests/cc/tls/test_authority.h"

namespace persia {
namespace {

std::unique_ptr<EmbeddingService> ClientOf(const std::string& address,
                                           std::shared_ptr<TlsContext> tls,
                                           const std::string& token = "") {
  RemoteServiceOptions options;
  options.tls = std::move(tls);
  options.auth_token = token;
  return MakeClient({address}, options);
}

class TlsTest : public testing::Test {
 protected:
  ServerOptions WithTls(const std::string& token = "") const {
    ServerOptions options;
    options.tls = tls_;
    options.auth_token = token;
    options.handshake_seconds = 3600;
    return options;
  }

  // The counters of a shard that the fixture's client may ask.
  ServiceStats Ask(const Shard& shard, const std::string& token = "") const {
    const auto client = ClientOf(shard.address(), tls_, token);
    return StatsOf(client.get())[0];
  }

  // Waits for the count, because the server may learn of the refusal last.
  void ExpectCounted(const Shard& shard, uint64_t refused,
                     const std::string& token = "") const {
    const Deadline deadline = Clock::now() + kHang;
    while (Ask(shard, token).refused_connections < refused) {
      ASSERT_LT(Clock::now(), deadline) << "not counted";
      std::this_thread::yield();
    }
    EXPECT_EQ(Ask(shard, token).refused_connections, refused);
    EXPECT_EQ(Ask(shard, token).bad_frames, 0u);
  }

  const TestAuthority authority_;
  const std::shared_ptr<TlsContext> tls_ = authority_.MakeContext();
};

TEST_F(TlsTest, RowsAreThoseOfTheShard) {
  for (const char* token : {"", kToken}) {
    Shard shard(WithTls(token));
    const auto client = ClientOf(shard.address(), tls_, token);
    CreateRowTable(client.get(), kUser);
    const auto ids = FirstIds(200'000);  // Some megabytes each way.
    EXPECT_EQ(LookUpRows(client.get(), kUser, ids),
              LookUpRows(shard.service(), kUser, ids));
    const PendingUpdate update(client.get(), kUser, ids, 1, 1);
    EXPECT_TRUE(update.Wait().ok()) << update.Wait().message();
    EXPECT_EQ(LookUpRows(client.get(), kUser, ids),
              LookUpRows(shard.service(), kUser, ids));
  }
}

TEST_F(TlsTest, WrongTokenIsRefusedWithinTls) {
  Shard shard(WithTls(kToken));
  ExpectRefused(ClientOf(shard.address(), tls_, kOtherToken).get(),
                shard.address(), Code::kPermissionDenied,
                "the server does not have this client's token");
  ExpectRefused(ClientOf(shard.address(), tls_).get(), shard.address(),
                Code::kUnauthenticated, "this server requires a token");
  ExpectCounted(shard, 2, kToken);
}

TEST_F(TlsTest, PlainClientIsToldToUseTlsAndCounted) {
  Shard shard(WithTls());
  ExpectRefused(ClientOf(shard.address(), nullptr).get(), shard.address(),
                Code::kUnauthenticated,
                "this server wants TLS: give the client --tls-certificate");
  ExpectCounted(shard, 1);
}

TEST_F(TlsTest, PlainClientWithATokenIsToldTheSame) {
  Shard shard(WithTls(kToken));
  ExpectRefused(ClientOf(shard.address(), nullptr, kToken).get(),
                shard.address(), Code::kUnauthenticated, "wants TLS");
  ExpectCounted(shard, 1, kToken);
}

TEST_F(TlsTest, TlsClientOfAPlainServerIsToldSoAndCounted) {
  for (const char* token : {"", kToken}) {
    ServerOptions options;
    options.auth_token = token;
    Shard shard(options);
    ExpectRefused(ClientOf(shard.address(), tls_, token).get(), shard.address(),
                  Code::kUnauthenticated,
                  "the server has no TLS 1.3: start it with --tls-certificate");
    const auto stats = StatsOf(ClientOf(shard.address(), nullptr, token).get());
    EXPECT_EQ(stats[0].refused_connections, 1u);
    EXPECT_EQ(stats[0].bad_frames, 0u);
  }
}

TEST_F(TlsTest, ServerOfAnotherAuthorityIsRefused) {
  Shard shard(WithTls());
  const TestAuthority other;
  TlsCredentials client = authority_.Issue();
  client.ca = other.certificate();
  ExpectRefused(ClientOf(shard.address(), ContextOf(client)).get(),
                shard.address(), Code::kPermissionDenied,
                "this end does not accept the server's certificate");
  ExpectCounted(shard, 1);
}

TEST_F(TlsTest, ClientOfAnotherAuthorityIsRefused) {
  Shard shard(WithTls());
  const TestAuthority other;
  TlsCredentials client = other.Issue();
  client.ca = authority_.certificate();
  ExpectRefused(ClientOf(shard.address(), ContextOf(client)).get(),
                shard.address(), Code::kPermissionDenied,
                "the peer refused this end's certificate");
  ExpectCounted(shard, 1);
}

TEST_F(TlsTest, ExpiredClientIsRefused) {
  Shard shard(WithTls());
  const auto expired = ContextOf(authority_.Issue("IP:127.0.0.1", -1));
  ExpectRefused(ClientOf(shard.address(), expired).get(), shard.address(),
                Code::kPermissionDenied, "refused this process's expired");
  ExpectCounted(shard, 1);
}

TEST_F(TlsTest, ExpiredServerIsRefused) {
  ServerOptions options = WithTls();
  options.tls = ContextOf(authority_.Issue("IP:127.0.0.1", -1));
  Shard shard(options);
  ExpectRefused(ClientOf(shard.address(), tls_).get(), shard.address(),
                Code::kPermissionDenied,
                "the server's certificate has expired: give it a new one");
}

TEST_F(TlsTest, ServerIsKnownByTheNameThatItsAddressHas) {
  ServerOptions options = WithTls();
  options.tls = ContextOf(authority_.Issue("DNS:localhost"));
  Shard shard(options);
  ExpectRefused(ClientOf(shard.address(), tls_).get(), shard.address(),
                Code::kPermissionDenied,
                "the server's certificate is not for 127.0.0.1");
  const auto client = ClientOf(Concat("localhost:", shard.port()), tls_);
  CreateRowTable(client.get(), kUser);
  EXPECT_EQ(StatsOf(client.get())[0].refused_connections, 1u);
}

// The silent connection has sent nothing, the other one the beginning of a
// handshake.
TEST_F(TlsTest, UnfinishedHandshakesEndAtTheDeadlineAndAreCounted) {
  ServerOptions options = WithTls();
  options.handshake_seconds = 1;
  Shard shard(options);
  const auto client = ClientOf(shard.address(), tls_);
  CreateRowTable(client.get(), kUser);
  RawSocket silent = RawSocket::Connect(shard.port());
  RawSocket halfway = RawSocket::Connect(shard.port());
  halfway.Send({22, 3, 1, 2, 0, 1, 0});
  EXPECT_TRUE(silent.WaitForEnd());
  EXPECT_TRUE(halfway.WaitForEnd());
  // The deadline ends handshakes only: the client's connection is older too,
  // and is not counted.
  EXPECT_EQ(StatsOf(client.get())[0].refused_connections, 2u);
}

// A probe of the port does this.
TEST_F(TlsTest, ConnectionThatSaysNothingAndEndsIsNotCounted) {
  Shard shard(WithTls());
  { RawSocket probe = RawSocket::Connect(shard.port()); }
  for (int i = 0; i < 2 * ServerOptions().io_threads; ++i) {
    EXPECT_EQ(Ask(shard).refused_connections, 0u);
  }
}

TEST_F(TlsTest, ServerThatStallsInTheHandshakeIsLeftAndTriedAgain) {
  RawListener listener;
  RemoteServiceOptions options;
  options.tls = tls_;
  options.handshake_seconds = 0.05;
  auto client = MakeClient({LocalHost(listener.port())}, options);
  const PendingLookup lookup(client.get(), kUser, FirstIds(3), kLongSeconds);
  for (int attempt = 0; attempt < 2; ++attempt) {
    RawSocket silent = listener.Accept();
    size_t greeting = 0;
    while (!silent.WaitForEnd()) ++greeting;
    EXPECT_GT(greeting, 0u);
  }
  client = nullptr;
  EXPECT_EQ(lookup.Wait().code(), Code::kCancelled);
}

TEST_F(TlsTest, WhatIsNoTlsIsNoServer) {
  RawListener listener;
  const auto client = ClientOf(LocalHost(listener.port()), tls_);
  const PendingLookup lookup(client.get(), kUser, FirstIds(3), kLongSeconds);
  RawSocket peer = listener.Accept();
  const std::string answer = "HTTP/1.1 400 Bad Request\r\n\r\n";
  peer.Send(std::vector<uint8_t>(answer.begin(), answer.end()));
  const Status status = lookup.Wait();
  EXPECT_EQ(status.code(), Code::kUnauthenticated);
  EXPECT_NE(status.message().find("does not speak TLS"), std::string::npos)
      << status.message();
}

TEST_F(TlsTest, CutConnectionIsMadeAgain) {
  Shard shard(WithTls());
  RemoteServiceOptions options;
  options.tls = tls_;
  ExpectCutsAreMended(&shard, options);
}

TEST_F(TlsTest, ConnectionOverTheLimitIsTurnedAwayWithinTls) {
  ServerOptions options = WithTls();
  options.max_connections = 1;
  Shard shard(options);
  auto first = ClientOf(shard.address(), tls_);
  CreateRowTable(first.get(), kUser);
  const auto second = ClientOf(shard.address(), tls_);
  const PendingLookup early(second.get(), kUser, FirstIds(3), 1);
  EXPECT_NE(early.Wait().message().find("its limit of 1 connections"),
            std::string::npos)
      << early.Wait().message();
  const PendingLookup late(second.get(), kUser, FirstIds(3), kLongSeconds);
  first = nullptr;
  EXPECT_TRUE(late.Wait().ok()) << late.Wait().message();
}

TEST_F(TlsTest, StopEndsThoseInAHandshakeAndAnswersTheRest) {
  auto service = std::make_unique<HoldingService>();
  CreateRowTable(service.get(), kUser);
  auto server = StartServer(service.get(), WithTls());
  ASSERT_TRUE(server.ok());
  const auto client = ClientOf(LocalHost((*server)->port()), tls_);
  service->Hold();
  const PendingLookup lookup(client.get(), kUser, FirstIds(3), kLongSeconds);
  service->WaitForHeld(1);
  RawSocket silent = RawSocket::Connect((*server)->port());
  std::thread stop([&] { (*server)->Stop(Clock::now() + kHang); });
  EXPECT_TRUE(silent.WaitForEnd());
  service->ReleaseAll();
  stop.join();
  EXPECT_TRUE(lookup.Wait().ok()) << lookup.Wait().message();
}

// Mutual TLS authenticates clients, as a token does.
TEST_F(TlsTest, OtherMachinesMayComeByTls) {
  HoldingService service;
  ServerOptions options = WithTls();
  options.host = "0.0.0.0";
  EXPECT_TRUE(StartServer(&service, options).ok());
}

}  // namespace
}  // namespace persia
