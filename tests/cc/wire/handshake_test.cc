// The two ends' rules, without a network between them.

#include "cc/wire/handshake.h"

#include <gtest/gtest.h>

#include <string>

#include "cc/tls/hmac_sha256.h"
#include "cc/wire/messages.h"
#include "tests/cc/wire/frame_bytes.h"

namespace persia {
namespace {

constexpr char kToken[] = "a token of these tests";
constexpr char kOtherToken[] = "another token of these";

MessageType TypeOf(const OutFrame& frame) {
  return static_cast<MessageType>(frame.head[6]);
}

template <typename End>
Status Give(const OutFrame& frame, End* to, OutFrame* reply) {
  return to->Take(TypeOf(frame), Body(frame).bytes(), reply);
}

// Runs the handshake up to the challenge; returns the challenge.
OutFrame Begin(ClientHandshake* client, ServerHandshake* server) {
  OutFrame hello, challenge;
  EXPECT_TRUE(client->Start(&hello).ok());
  EXPECT_TRUE(Give(hello, server, &challenge).ok());
  return challenge;
}

TEST(HandshakeTest, EndsWithOneTokenBelieveEachOther) {
  ClientHandshake client(kToken);
  ServerHandshake server(kToken);
  EXPECT_FALSE(server.is_challenging());
  const OutFrame challenge = Begin(&client, &server);
  EXPECT_TRUE(server.is_challenging());
  OutFrame proof, welcome, none;
  ASSERT_TRUE(Give(challenge, &client, &proof).ok());
  EXPECT_FALSE(client.is_done());
  EXPECT_FALSE(server.is_done());
  ASSERT_TRUE(Give(proof, &server, &welcome).ok());
  EXPECT_TRUE(server.is_done());
  EXPECT_FALSE(server.is_challenging());
  EXPECT_FALSE(client.is_done());
  ASSERT_TRUE(Give(welcome, &client, &none).ok());
  EXPECT_TRUE(client.is_done());
}

TEST(HandshakeTest, ProofsAreTheseHmacs) {
  ServerHandshake server(kToken);
  Nonce nonce;
  nonce.fill(3);
  OutFrame frame, welcome;
  ASSERT_TRUE(Give(EncodeHello(nonce), &server, &frame).ok());
  Challenge challenge;
  ASSERT_TRUE(DecodeChallenge(Body(frame).bytes(), &challenge).ok());
  EXPECT_EQ(challenge.proof,
            *HmacSha256(kToken, {AsBytes("server"), nonce, challenge.nonce}));
  const Proof proof =
      *HmacSha256(kToken, {AsBytes("client"), challenge.nonce, nonce});
  EXPECT_TRUE(Give(EncodeProof(proof), &server, &welcome).ok());
}

TEST(HandshakeTest, ClientGivesAnImpostorNothing) {
  ClientHandshake client(kToken);
  ServerHandshake impostor(kOtherToken);
  const OutFrame challenge = Begin(&client, &impostor);
  OutFrame proof;
  const Status status = Give(challenge, &client, &proof);
  EXPECT_EQ(status.code(), Code::kPermissionDenied);
  EXPECT_NE(status.message().find("the server does not have this client's"),
            std::string::npos);
  EXPECT_TRUE(proof.head.empty());
  EXPECT_FALSE(client.is_done());
}

TEST(HandshakeTest, ServerRefusesAProofByAnotherToken) {
  ServerHandshake server(kToken);
  Nonce nonce = {};
  OutFrame frame, welcome;
  ASSERT_TRUE(Give(EncodeHello(nonce), &server, &frame).ok());
  Challenge challenge;
  ASSERT_TRUE(DecodeChallenge(Body(frame).bytes(), &challenge).ok());
  const Proof wrong =
      *HmacSha256(kOtherToken, {AsBytes("client"), challenge.nonce, nonce});
  const Status status = Give(EncodeProof(wrong), &server, &welcome);
  EXPECT_EQ(status.code(), Code::kPermissionDenied);
  EXPECT_EQ(status.message().find(kToken), std::string::npos);
  EXPECT_FALSE(server.is_done());
}

TEST(HandshakeTest, ReplayedProofIsRefused) {
  ClientHandshake client(kToken);
  ServerHandshake first(kToken), second(kToken);
  OutFrame hello, challenge, proof, welcome;
  ASSERT_TRUE(client.Start(&hello).ok());
  ASSERT_TRUE(Give(hello, &first, &challenge).ok());
  ASSERT_TRUE(Give(challenge, &client, &proof).ok());
  ASSERT_TRUE(Give(proof, &first, &welcome).ok());
  // The same frames of the client, sent to another server handshake.
  ASSERT_TRUE(Give(hello, &second, &challenge).ok());
  EXPECT_EQ(Give(proof, &second, &welcome).code(), Code::kPermissionDenied);
}

TEST(HandshakeTest, ReplayedChallengeIsRefused) {
  ClientHandshake first(kToken), second(kToken);
  ServerHandshake server(kToken);
  const OutFrame challenge = Begin(&first, &server);
  OutFrame hello, proof;
  ASSERT_TRUE(second.Start(&hello).ok());
  EXPECT_EQ(Give(challenge, &second, &proof).code(), Code::kPermissionDenied);
}

// A client without the token makes the server itself compute the proof, over a
// second connection.
TEST(HandshakeTest, ProofReflectedFromTheServerIsRefused) {
  ServerHandshake victim(kToken), oracle(kToken);
  Nonce nonce = {};
  OutFrame frame, answer, welcome;
  ASSERT_TRUE(Give(EncodeHello(nonce), &victim, &frame).ok());
  Challenge challenge;
  ASSERT_TRUE(DecodeChallenge(Body(frame).bytes(), &challenge).ok());
  ASSERT_TRUE(Give(EncodeHello(challenge.nonce), &oracle, &answer).ok());
  Challenge answered;
  ASSERT_TRUE(DecodeChallenge(Body(answer).bytes(), &answered).ok());
  EXPECT_EQ(Give(EncodeProof(answered.proof), &victim, &welcome).code(),
            Code::kPermissionDenied);
}

// The same with the proof that the victim itself has sent.
TEST(HandshakeTest, ServersOwnProofIsNotTheClients) {
  ServerHandshake server(kToken);
  OutFrame frame, welcome;
  ASSERT_TRUE(Give(EncodeHello(Nonce{}), &server, &frame).ok());
  Challenge challenge;
  ASSERT_TRUE(DecodeChallenge(Body(frame).bytes(), &challenge).ok());
  EXPECT_EQ(Give(EncodeProof(challenge.proof), &server, &welcome).code(),
            Code::kPermissionDenied);
}

TEST(HandshakeTest, NoncesAreNewForEachConnection) {
  ClientHandshake first(kToken), second(kToken);
  OutFrame one, other;
  ASSERT_TRUE(first.Start(&one).ok());
  ASSERT_TRUE(second.Start(&other).ok());
  EXPECT_NE(FrameBytes(one), FrameBytes(other));
  ServerHandshake server(kToken), again(kToken);
  OutFrame challenge, next;
  ASSERT_TRUE(Give(one, &server, &challenge).ok());
  ASSERT_TRUE(Give(one, &again, &next).ok());
  EXPECT_NE(FrameBytes(challenge), FrameBytes(next));
}

TEST(HandshakeTest, RequestBeforeItIsToldHowToGiveAToken) {
  ServerHandshake server(kToken);
  OutFrame reply;
  const Status status = Give(EncodeRequest(1, StatsRequest()), &server, &reply);
  EXPECT_EQ(status.code(), Code::kUnauthenticated);
  for (const char* part :
       {"this server requires a token", "--auth-token-file",
        "$PERSIA_AUTH_TOKEN_FILE", "Cluster(auth_token_file=...)"}) {
    EXPECT_NE(status.message().find(part), std::string::npos) << part;
  }
  // A request after the challenge is refused too.
  ASSERT_TRUE(Give(EncodeHello(Nonce{}), &server, &reply).ok());
  EXPECT_EQ(Give(EncodeRequest(1, StatsRequest()), &server, &reply).code(),
            Code::kUnauthenticated);
}

TEST(HandshakeTest, FramesOutOfPlaceAreRefused) {
  OutFrame reply;
  ServerHandshake server(kToken);
  EXPECT_EQ(Give(EncodeProof(Proof{}), &server, &reply).code(),
            Code::kDataLoss);
  EXPECT_EQ(Give(EncodeWelcome(), &server, &reply).code(), Code::kDataLoss);
  ASSERT_TRUE(Give(EncodeHello(Nonce{}), &server, &reply).ok());
  EXPECT_EQ(Give(EncodeHello(Nonce{}), &server, &reply).code(),
            Code::kDataLoss);

  ClientHandshake client(kToken);
  OutFrame hello;
  ASSERT_TRUE(client.Start(&hello).ok());
  // Above all, a client must not take a welcome from a server that has proved
  // nothing.
  EXPECT_EQ(Give(EncodeWelcome(), &client, &reply).code(), Code::kDataLoss);
  EXPECT_EQ(Give(hello, &client, &reply).code(), Code::kDataLoss);
  EXPECT_FALSE(client.is_done());
}

TEST(HandshakeTest, ServersErrorIsTheClients) {
  ClientHandshake client(kToken);
  OutFrame hello, next;
  ASSERT_TRUE(client.Start(&hello).ok());
  const Status status =
      Give(EncodeError(kConnectionId, NoTokenHere()), &client, &next);
  EXPECT_EQ(status.code(), Code::kUnauthenticated);
  EXPECT_EQ(status.message(), NoTokenHere().message());
}

}  // namespace
}  // namespace persia
