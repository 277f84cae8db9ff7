// What a client does, with and without a token, when it meets various servers.

#include "cc/wire/handshake.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "cc/wire/messages.h"
#include "tests/cc/client/handshake_outcomes.h"
#include "tests/cc/client/shards_fixture.h"
#include "tests/cc/support/handshake_frames.h"
#include "tests/cc/support/raw_socket.h"

namespace persia {
namespace {

std::unique_ptr<EmbeddingService> ClientOf(const std::string& address,
                                           const std::string& token) {
  RemoteServiceOptions options;
  options.auth_token = token;
  return MakeClient({address}, options);
}

ServerOptions WithToken(const std::string& token) {
  ServerOptions options;
  options.auth_token = token;
  return options;
}

TEST(HandshakeTest, RightTokenIsServed) {
  Shard shard(WithToken(kToken));
  const auto client = ClientOf(shard.address(), kToken);
  CreateRowTable(client.get(), kUser);
  // Request and reply are both longer than a handshake may be.
  const auto ids = FirstIds(kMaxHandshakeBodyBytes);
  EXPECT_EQ(LookUpRows(client.get(), kUser, ids),
            LookUpRows(shard.service(), kUser, ids));
}

TEST(HandshakeTest, WrongTokenFailsAtOnce) {
  Shard shard(WithToken(kToken));
  const auto client = ClientOf(shard.address(), kOtherToken);
  ExpectRefused(client.get(), shard.address(), Code::kPermissionDenied,
                "the server does not have this client's token");
}

TEST(HandshakeTest, ARefusalEndsAllCalls) {
  Shard shard(WithToken(kToken));
  const auto client = ClientOf(shard.address(), kOtherToken);
  const PendingLookup first(client.get(), kUser, FirstIds(3), kLongSeconds);
  const PendingLookup second(client.get(), kUser, FirstIds(3), kLongSeconds);
  for (const Status& status : {first.Wait(), second.Wait()}) {
    ExpectRefusal(status, shard.address(), Code::kPermissionDenied,
                  "the server does not have this client's token");
  }
}

TEST(HandshakeTest, NoTokenFailsAtOnce) {
  Shard shard(WithToken(kToken));
  const auto client = ClientOf(shard.address(), "");
  ExpectRefused(client.get(), shard.address(), Code::kUnauthenticated,
                "this server requires a token");
}

// The request is longer than what the server reads of an unknown client.
TEST(HandshakeTest, LongRequestWithoutATokenFailsAtOnce) {
  Shard shard(WithToken(kToken));
  const auto client = ClientOf(shard.address(), "");
  const PendingLookup lookup(client.get(), kUser, FirstIds(4 << 20),
                             kLongSeconds);
  EXPECT_EQ(lookup.Wait().code(), Code::kUnauthenticated);
}

TEST(HandshakeTest, ServerWithoutATokenIsNoneForAClientThatHasOne) {
  Shard shard;
  const auto client = ClientOf(shard.address(), kToken);
  ExpectRefused(client.get(), shard.address(), Code::kUnauthenticated,
                "this server has none");
}

TEST(HandshakeTest, ImpostorIsToldNothing) {
  RawListener listener;
  const auto client = ClientOf(LocalHost(listener.port()), kToken);
  const PendingLookup lookup(client.get(), kUser, FirstIds(3), kLongSeconds);
  RawSocket peer = listener.Accept();
  const RawFrame hello = peer.ReceiveFrame();
  EXPECT_EQ(hello.header.type, MessageType::kHello);
  Nonce nonce;
  ASSERT_TRUE(DecodeHello(hello.body, &nonce).ok());
  // The client's own nonce comes back, with a proof made from another token.
  peer.Send(EncodeChallenge({nonce, ProofOfServer(kOtherToken, nonce, nonce)}));
  EXPECT_TRUE(peer.WaitForEnd());
  EXPECT_EQ(lookup.Wait().code(), Code::kPermissionDenied);
}

TEST(HandshakeTest, WelcomeWithoutAProofIsNotBelieved) {
  RawListener listener;
  auto client = ClientOf(LocalHost(listener.port()), kToken);
  const PendingLookup lookup(client.get(), kUser, FirstIds(3), kLongSeconds);
  for (int attempt = 0; attempt < 2; ++attempt) {
    RawSocket peer = listener.Accept();
    EXPECT_EQ(peer.ReceiveFrame().header.type, MessageType::kHello);
    peer.Send(EncodeWelcome());
    EXPECT_TRUE(peer.WaitForEnd());
  }
  client = nullptr;
  EXPECT_EQ(lookup.Wait().code(), Code::kCancelled);
}

TEST(HandshakeTest, LongFrameOfAnImpostorIsNotRead) {
  RawListener listener;
  auto client = ClientOf(LocalHost(listener.port()), kToken);
  const PendingLookup lookup(client.get(), kUser, FirstIds(3), kLongSeconds);
  RawSocket peer = listener.Accept();
  EXPECT_EQ(peer.ReceiveFrame().header.type, MessageType::kHello);
  OutFrame frame;
  frame.head.resize(kFrameHeaderBytes + kMaxHandshakeBodyBytes + 1);
  SealFrame(MessageType::kChallenge, kConnectionId, &frame);
  frame.head.resize(kFrameHeaderBytes);
  peer.Send(frame);
  EXPECT_TRUE(peer.WaitForEnd());
  client = nullptr;
  EXPECT_EQ(lookup.Wait().code(), Code::kCancelled);
}

TEST(HandshakeTest, SilentServerIsLeftAndTriedAgain) {
  RawListener listener;
  RemoteServiceOptions options;
  options.auth_token = kToken;
  options.handshake_seconds = 0.05;
  auto client = MakeClient({LocalHost(listener.port())}, options);
  const PendingLookup lookup(client.get(), kUser, FirstIds(3), kLongSeconds);
  for (int attempt = 0; attempt < 2; ++attempt) {
    RawSocket silent = listener.Accept();
    EXPECT_EQ(silent.ReceiveFrame().header.type, MessageType::kHello);
    EXPECT_TRUE(silent.WaitForEnd());
  }
  client = nullptr;
  EXPECT_EQ(lookup.Wait().code(), Code::kCancelled);
}

TEST(HandshakeTest, RequestsWaitForTheWelcome) {
  RawListener listener;
  auto client = ClientOf(LocalHost(listener.port()), kToken);
  const PendingLookup lookup(client.get(), kUser, FirstIds(3), kLongSeconds);
  RawSocket peer = listener.Accept();
  ServerHandshake server(kToken);
  for (const MessageType type : {MessageType::kHello, MessageType::kProof}) {
    const RawFrame frame = peer.ReceiveFrame();
    ASSERT_EQ(frame.header.type, type);
    OutFrame reply;
    ASSERT_TRUE(server.Take(type, frame.body, &reply).ok());
    peer.Send(reply);
  }
  EXPECT_EQ(peer.ReceiveFrame().header.type, kRequestType<LookupRequest>);
  client = nullptr;
  EXPECT_EQ(lookup.Wait().code(), Code::kCancelled);
}

TEST(HandshakeTest, OtherVersionFailsAtOnce) {
  RawListener listener;
  const auto client = ClientOf(LocalHost(listener.port()), kToken);
  const PendingLookup lookup(client.get(), kUser, FirstIds(3), kLongSeconds);
  RawSocket peer = listener.Accept();
  peer.ReceiveFrame();
  peer.Send(OfVersion(kProtocolVersion + 1, EncodeWelcome()));
  const Status status = lookup.Wait();
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.message().find("protocol version"), std::string::npos);
}

TEST(HandshakeTest, CutConnectionIsMadeAgainWithAHandshake) {
  Shard shard(WithToken(kToken));
  RemoteServiceOptions options;
  options.auth_token = kToken;
  ExpectCutsAreMended(&shard, options);
}

TEST(HandshakeTest, ServerThatComesBackWithAnotherTokenFailsWhatWaits) {
  Shard shard(WithToken(kToken));
  const auto client = ClientOf(shard.address(), kToken);
  CreateRowTable(client.get(), kUser);
  shard.service()->Hold();
  const PendingLookup lookup(client.get(), kUser, FirstIds(3), kLongSeconds);
  shard.service()->WaitForHeld(1);
  shard.Kill();
  shard.service()->ReleaseAll();
  shard.Restart(WithToken(kOtherToken));
  EXPECT_EQ(lookup.Wait().code(), Code::kPermissionDenied);
  // Once the server has the right token again, the same client goes on.
  shard.Kill();
  shard.Restart(WithToken(kToken));
  EXPECT_EQ(LookUpRows(client.get(), kUser, FirstIds(3)),
            LookUpRows(shard.service(), kUser, FirstIds(3)));
}

TEST(HandshakeTest, ClientThatIsTurnedAwayGetsInLater) {
  ServerOptions options = WithToken(kToken);
  options.max_connections = 1;
  Shard shard(options);
  auto first = ClientOf(shard.address(), kToken);
  CreateRowTable(first.get(), kUser);
  const auto second = ClientOf(shard.address(), kToken);
  const PendingLookup early(second.get(), kUser, FirstIds(3), 1);
  const Status status = early.Wait();
  EXPECT_NE(status.message().find("its limit of 1 connections"),
            std::string::npos)
      << status.message();
  const PendingLookup late(second.get(), kUser, FirstIds(3), kLongSeconds);
  first = nullptr;
  EXPECT_TRUE(late.Wait().ok()) << late.Wait().message();
}

// Also without a token: if the deadline passes on the next connection, the
// call's error gives the reason that the last server gave.
TEST(HandshakeTest, ReasonOfATurningAwayIsRemembered) {
  RawListener listener;
  const auto client = ClientOf(LocalHost(listener.port()), "");
  const PendingLookup lookup(client.get(), kUser, FirstIds(3), 1);
  {
    RawSocket full = listener.Accept();
    full.ReceiveFrame();
    full.Send(EncodeError(kConnectionId,
                          Status(Code::kResourceExhausted, "it is full")));
    EXPECT_TRUE(full.WaitForEnd());
  }
  RawSocket silent = listener.Accept();
  const Status status = lookup.Wait();
  EXPECT_NE(status.message().find(" s: it is full"), std::string::npos)
      << status.message();
}

TEST(HandshakeTest, ClientMayGoInTheMiddleOfIt) {
  RawListener listener;
  auto client = ClientOf(LocalHost(listener.port()), kToken);
  const PendingLookup lookup(client.get(), kUser, FirstIds(3), kLongSeconds);
  RawSocket peer = listener.Accept();
  EXPECT_EQ(peer.ReceiveFrame().header.type, MessageType::kHello);
  client = nullptr;
  EXPECT_EQ(lookup.Wait().code(), Code::kCancelled);
  EXPECT_TRUE(peer.WaitForEnd());
}

}  // namespace
}  // namespace persia
