// The handshake, for a test that talks to a server or client in frames.

#ifndef PERSIA_TESTS_CC_SUPPORT_HANDSHAKE_FRAMES_H_
#define PERSIA_TESTS_CC_SUPPORT_HANDSHAKE_FRAMES_H_

#include <gtest/gtest.h>

#include "cc/tls/hmac_sha256.h"
#include "cc/wire/handshake_messages.h"
#include "tests/cc/support/raw_socket.h"

namespace persia {

inline constexpr char kToken[] = "a token of these tests";
inline constexpr char kOtherToken[] = "another token of these";

// Proofs as handshake.h explains them, worked out anew.
inline Proof ProofOfServer(std::string_view token, const Nonce& client,
                           const Nonce& server) {
  return *HmacSha256(token, {AsBytes("server"), client, server});
}
inline Proof ProofOfClient(std::string_view token, const Nonce& client,
                           const Nonce& server) {
  return *HmacSha256(token, {AsBytes("client"), server, client});
}

inline Nonce NonceOf(uint8_t byte) {
  Nonce nonce;
  nonce.fill(byte);
  return nonce;
}

// Greets a server; returns its challenge.
inline Challenge Greet(RawSocket* server, const Nonce& client_nonce) {
  server->Send(EncodeHello(client_nonce));
  const RawFrame reply = server->ReceiveFrame();
  EXPECT_TRUE(reply.ok);
  EXPECT_EQ(reply.header.type, MessageType::kChallenge);
  EXPECT_EQ(reply.header.request_id, kConnectionId);
  Challenge challenge = {};
  EXPECT_TRUE(DecodeChallenge(reply.body, &challenge).ok());
  return challenge;
}

// All of a handshake with a server.
inline void ShakeHands(RawSocket* server, std::string_view token) {
  const Nonce nonce = NonceOf(7);
  const Challenge challenge = Greet(server, nonce);
  EXPECT_EQ(challenge.proof, ProofOfServer(token, nonce, challenge.nonce));
  server->Send(EncodeProof(ProofOfClient(token, nonce, challenge.nonce)));
  EXPECT_EQ(server->ReceiveFrame().header.type, MessageType::kWelcome);
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SUPPORT_HANDSHAKE_FRAMES_H_
