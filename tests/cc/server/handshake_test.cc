// Which clients a server with a token admits, and which it refuses.

#include "cc/wire/handshake.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/cc/server/server_fixture.h"
#include "tests/cc/support/handshake_frames.h"

namespace persia {
namespace {

// Waits until `holds`; false if that does not come about in time.
bool Eventually(const std::function<bool()>& holds) {
  const Deadline deadline = Clock::now() + kHang;
  while (!holds()) {
    if (Clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

class HandshakeTest : public ServerFixture {
 protected:
  HandshakeTest() {
    options_.auth_token = kToken;
    options_.handshake_seconds = 3600;
  }

  void Start() { StartServerWith(options_); }

  ServiceStats Ask() {
    RawSocket client = Connect();
    ShakeHands(&client, kToken);
    return StatsOver(&client);
  }

  // Expects that `offender` is told the reason, dropped and counted, and that
  // other clients are admitted.
  void ExpectRefused(RawSocket* offender, Code code, const std::string& part) {
    const Status status = ExpectError(offender, kConnectionId);
    EXPECT_EQ(status.code(), code);
    EXPECT_NE(status.message().find(part), std::string::npos)
        << status.message();
    EXPECT_EQ(status.message().find(kToken), std::string::npos);
    EXPECT_TRUE(offender->WaitForEnd());
    const ServiceStats stats = Ask();
    EXPECT_EQ(stats.refused_connections, 1u);
    EXPECT_EQ(stats.bad_frames, 0u);
  }

  // Expects that `offender` is dropped without an answer, and counted.
  void ExpectDropped(RawSocket* offender) {
    EXPECT_TRUE(offender->WaitForEnd());
    const ServiceStats stats = Ask();
    EXPECT_EQ(stats.refused_connections, 0u);
    EXPECT_EQ(stats.bad_frames, 1u);
  }

  ServerOptions options_;
};

TEST_F(HandshakeTest, RightTokenIsServed) {
  Start();
  RawSocket client = Connect();
  ShakeHands(&client, kToken);
  ExpectServed(&client);
  EXPECT_EQ(Ask().refused_connections, 0u);
}

TEST_F(HandshakeTest, LongRequestsAreTakenAfterwards) {
  Start();
  RawSocket client = Connect();
  ShakeHands(&client, kToken);
  constexpr size_t kIds = kMaxHandshakeBodyBytes;  // Of 8 bytes each.
  client.Send(LookupFrame(1, kTable, kIds));
  const RawFrame reply = client.ReceiveFrame();
  EXPECT_EQ(DecodeRows(reply, kIds),
            LookUpRows(&service_, kTable, FirstIds(kIds)));
}

TEST_F(HandshakeTest, WrongTokenIsRefused) {
  Start();
  RawSocket client = Connect();
  const Challenge challenge = Greet(&client, NonceOf(1));
  client.Send(
      EncodeProof(ProofOfClient(kOtherToken, NonceOf(1), challenge.nonce)));
  ExpectRefused(&client, Code::kPermissionDenied, "give both the same");
}

TEST_F(HandshakeTest, NoTokenIsRefused) {
  Start();
  RawSocket client = Connect();
  client.Send(EncodeRequest(5, StatsRequest()));
  ExpectRefused(&client, Code::kUnauthenticated,
                "this server requires a token");
}

TEST_F(HandshakeTest, LongRequestWithoutATokenIsToldTheSame) {
  Start();
  RawSocket client = Connect();
  client.Send(LookupFrame(5, kTable, kMaxHandshakeBodyBytes));
  ExpectRefused(&client, Code::kUnauthenticated,
                "this server requires a token");
}

TEST_F(HandshakeTest, RequestBetweenChallengeAndProofIsRefused) {
  Start();
  RawSocket client = Connect();
  Greet(&client, NonceOf(1));
  client.Send(EncodeRequest(5, StatsRequest()));
  ExpectRefused(&client, Code::kUnauthenticated,
                "this server requires a token");
}

TEST_F(HandshakeTest, ReplayedProofIsRefused) {
  Start();
  RawSocket first = Connect();
  const Challenge challenge = Greet(&first, NonceOf(1));
  const OutFrame proof =
      EncodeProof(ProofOfClient(kToken, NonceOf(1), challenge.nonce));
  first.Send(proof);
  EXPECT_EQ(first.ReceiveFrame().header.type, MessageType::kWelcome);
  RawSocket second = Connect();
  Greet(&second, NonceOf(1));
  second.Send(proof);
  ExpectRefused(&second, Code::kPermissionDenied, "give both the same");
  ExpectServed(&first);
}

TEST_F(HandshakeTest, ReflectedProofIsRefused) {
  Start();
  RawSocket client = Connect();
  const Challenge challenge = Greet(&client, NonceOf(1));
  RawSocket oracle = Connect();
  const Challenge answer = Greet(&oracle, challenge.nonce);
  client.Send(EncodeProof(answer.proof));
  ExpectRefused(&client, Code::kPermissionDenied, "give both the same");
}

TEST_F(HandshakeTest, ClientThatHangsUpOnTheChallengeIsCounted) {
  Start();
  {
    RawSocket client = Connect();
    Greet(&client, NonceOf(1));
  }
  EXPECT_TRUE(Eventually([&] { return Ask().refused_connections == 1; }));
}

TEST_F(HandshakeTest, ConnectionThatSaysNothingAndEndsIsNotCounted) {
  Start();
  { RawSocket client = Connect(); }
  // Each thread sees the end of that connection before the end of a later one.
  for (int i = 0; i < options_.io_threads; ++i) {
    EXPECT_EQ(Ask().refused_connections, 0u);
  }
}

TEST_F(HandshakeTest, SilentConnectionIsDroppedAndCounted) {
  options_.handshake_seconds = 1;
  Start();
  RawSocket client = Connect();
  ShakeHands(&client, kToken);
  RawSocket silent = Connect();
  RawSocket halfway = Connect();
  Greet(&halfway, NonceOf(1));
  EXPECT_TRUE(silent.WaitForEnd());
  EXPECT_TRUE(halfway.WaitForEnd());
  // The deadline ends handshakes only: the client's connection is older too,
  // and is not counted.
  EXPECT_EQ(StatsOver(&client).refused_connections, 2u);
}

TEST_F(HandshakeTest, OversizeHelloIsDropped) {
  Start();
  RawSocket client = Connect();
  OutFrame frame;
  frame.head.resize(kFrameHeaderBytes + kMaxHandshakeBodyBytes + 1);
  SealFrame(MessageType::kHello, kConnectionId, &frame);
  // The header suffices: the server never waits for the rest.
  frame.head.resize(kFrameHeaderBytes);
  client.Send(frame);
  ExpectDropped(&client);
}

TEST_F(HandshakeTest, FrameOutOfPlaceIsDropped) {
  Start();
  RawSocket client = Connect();
  client.Send(EncodeProof(Proof{}));
  ExpectDropped(&client);
}

TEST_F(HandshakeTest, SecondHandshakeIsDropped) {
  Start();
  RawSocket client = Connect();
  ShakeHands(&client, kToken);
  client.Send(EncodeHello(NonceOf(1)));
  ExpectDropped(&client);
}

TEST_F(HandshakeTest, ServerWithoutATokenSaysSo) {
  options_.auth_token.clear();
  Start();
  RawSocket client = Connect();
  client.Send(EncodeHello(NonceOf(1)));
  const Status status = ExpectError(&client, kConnectionId);
  EXPECT_EQ(status.code(), Code::kUnauthenticated);
  EXPECT_NE(status.message().find("no token"), std::string::npos);
  EXPECT_TRUE(client.WaitForEnd());
  EXPECT_EQ(AskForStats().refused_connections, 1u);
}

TEST_F(HandshakeTest, StopEndsThoseInAHandshake) {
  Start();
  RawSocket silent = Connect();
  RawSocket halfway = Connect();
  Greet(&halfway, NonceOf(1));
  server_->Stop(Clock::now() + kHang);
  EXPECT_TRUE(silent.WaitForEnd());
  EXPECT_TRUE(halfway.WaitForEnd());
}

// ---- Limits and addresses.

using ConnectionLimitsTest = ServerFixture;

TEST_F(ConnectionLimitsTest, ConnectionOverTheLimitIsTurnedAwayAndCounted) {
  ServerOptions options;
  options.max_connections = 2;
  StartServerWith(options);
  std::vector<RawSocket> served;
  for (int i = 0; i < 2; ++i) {
    served.push_back(Connect());
    ExpectServed(&served.back());
  }
  RawSocket third = Connect();
  const Status status = ExpectError(&third, kConnectionId);
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_NE(status.message().find("2 connections: raise its"),
            std::string::npos)
      << status.message();
  EXPECT_TRUE(third.WaitForEnd());
  EXPECT_EQ(StatsOver(&served[0]).refused_connections, 1u);
  ExpectServed(&served[1], 2);

  served.pop_back();
  EXPECT_TRUE(Eventually([&] {
    RawSocket next = Connect();
    next.Send(LookupFrame(1));
    return next.ReceiveFrame().header.type == kReplyType<LookupRequest>;
  }));
}

// Connections that are told why they are refused stay open for a moment, so
// their number has a limit too.
TEST_F(ConnectionLimitsTest, ConnectionsFarOverTheLimitAreCutWithoutAWord) {
  ServerOptions options;
  options.max_connections = 1;
  StartServerWith(options);
  RawSocket served = Connect();
  ExpectServed(&served);
  uint64_t turned_away = 0;
  std::vector<RawSocket> others;
  EXPECT_TRUE(Eventually([&] {
    others.push_back(Connect());
    ++turned_away;
    return !others.back().ReceiveFrame().ok;
  }));
  EXPECT_GT(turned_away, 64u);
  EXPECT_EQ(StatsOver(&served).refused_connections, turned_away);
}

TEST_F(ConnectionLimitsTest, OtherMachinesNeedAToken) {
  ServerOptions options;
  for (const char* host : {"0.0.0.0", "::"}) {
    options.host = host;
    const auto server = StartServer(&service_, options);
    ASSERT_FALSE(server.ok()) << host;
    EXPECT_EQ(server.status().code(), Code::kInvalidArgument);
    for (const char* part : {host, "--auth-token-file", "--insecure"}) {
      EXPECT_NE(server.status().message().find(part), std::string::npos)
          << server.status().message();
    }
  }
  for (const char* host : {"127.0.0.1", "127.0.0.2", "localhost"}) {
    options.host = host;
    EXPECT_TRUE(StartServer(&service_, options).ok()) << host;
  }
  options.host = "0.0.0.0";
  options.insecure = true;
  EXPECT_TRUE(StartServer(&service_, options).ok());
  options.insecure = false;
  options.auth_token = kToken;
  EXPECT_TRUE(StartServer(&service_, options).ok());
}

TEST_F(ConnectionLimitsTest, OptionsOutOfRangeAreRefused) {
  ServerOptions options;
  options.max_connections = 0;
  EXPECT_EQ(StartServer(&service_, options).status().message(),
            "max_connections must be at least 1, received 0");
  options = ServerOptions();
  options.handshake_seconds = 0;
  EXPECT_EQ(StartServer(&service_, options).status().message(),
            "handshake_seconds must be above 0, received 0");
}

}  // namespace
}  // namespace persia
