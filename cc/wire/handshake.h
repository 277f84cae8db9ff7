// Handshake: how the two ends of a connection prove to each other that they
// have the same token, without sending it.
//
//   client                                    server
//   Hello     client nonce               -->
//                                        <--  Challenge  server nonce, proof of
//                                             "server", client nonce, server
//                                             nonce
//   Proof     of "client", server nonce,
//             client nonce               -->
//                                        <--  Welcome, or an Error
//
// A proof of some text is its HMAC-SHA-256 with the token as key. Nonces are 32
// random bytes, new for each connection:
//
// - A proof from another connection, replayed, is of other nonces: it fails.
// - A proof sent back to where it came from, or obtained from the same end by a
//   second connection (reflection), is of the other label: it fails. That holds
//   too for a process that is client and server with one token, as an embedding
//   worker is.
// - The server proves itself first: a client gives an impostor nothing that
//   depends on the token.
//
// Whoever can connect can test guesses of the token against the server's proof,
// at leisure: tokens must be random. The handshake does not protect what
// follows on the connection from somebody between the two ends; TLS does, and
// comes before it.
//
// These are the two ends' rules without any I/O. All frames have the request id
// kConnectionId. Not thread-safe.

#ifndef PERSIA_CC_WIRE_HANDSHAKE_H_
#define PERSIA_CC_WIRE_HANDSHAKE_H_

#include <cstdint>
#include <string>

#include "cc/base/status.h"
#include "cc/wire/frame.h"
#include "cc/wire/handshake_messages.h"

namespace persia {

// Nobody unproven can make the other end allocate more than this. An Error is
// the longest frame of a handshake.
inline constexpr uint64_t kMaxHandshakeBodyBytes = 4096;

class ServerHandshake {
 public:
  explicit ServerHandshake(std::string token) : token_(std::move(token)) {}

  // Takes the client's next frame and makes the reply. An error is for the
  // client, and ends the connection: kUnauthenticated, saying how to give a
  // token, for a request before the handshake; kPermissionDenied for a wrong
  // proof; kDataLoss for a frame that belongs nowhere here; kInternal without
  // random bytes.
  Status Take(MessageType type, ConstBytes body, OutFrame* reply);

  // Whether the client awaits, or owes, a proof. One that hangs up here has
  // found the server's wrong.
  bool is_challenging() const { return state_ == State::kChallenging; }

  // Whether the client has proved itself.
  bool is_done() const { return state_ == State::kDone; }

 private:
  enum class State { kNew, kChallenging, kDone };

  Status TakeHello(ConstBytes body, OutFrame* reply);
  Status TakeProof(ConstBytes body, OutFrame* reply);

  const std::string token_;
  State state_ = State::kNew;
  Nonce client_nonce_;
  Nonce server_nonce_;
};

class ClientHandshake {
 public:
  explicit ClientHandshake(std::string token) : token_(std::move(token)) {}

  // kInternal without random bytes.
  Status Start(OutFrame* hello);

  // Takes the server's next frame, and makes the next one unless it is done.
  // Errors: the server's own, if it sent one; kPermissionDenied if its proof is
  // wrong; kDataLoss for a frame that belongs nowhere here.
  Status Take(MessageType type, ConstBytes body, OutFrame* next);

  // Whether both have proved themselves.
  bool is_done() const { return state_ == State::kDone; }

 private:
  enum class State { kGreeting, kProving, kDone };

  Status TakeChallenge(ConstBytes body, OutFrame* next);

  const std::string token_;
  State state_ = State::kGreeting;
  Nonce nonce_;
};

// What a server without a token says to a client that has one.
Status NoTokenHere();

}  // namespace persia

#endif  // PERSIA_CC_WIRE_HANDSHAKE_H_
