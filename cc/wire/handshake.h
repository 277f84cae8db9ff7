// Handshake: how the two ends of a connection prove to each other that they
// have the same token without sending it.
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
// The proof of a text is its HMAC-SHA-256 with the token as key. Nonces are 32
// random bytes, new for each connection:
//
// - A proof replayed from another connection fails, because its nonces differ.
// - A proof that is sent back to the end that made it, or was obtained from
//   that end over a second connection, fails, because its label ("server" or
//   "client") differs. This also protects a process that is both client and
//   server with one token, such as an embedding worker.
// - The server proves itself first: a client sends an impostor nothing that
//   depends on the token.
//
// Anyone who can connect gets the server's proof and can test guesses of the
// token against it offline: tokens must be random. The handshake does not
// protect the later traffic from a man in the middle; TLS does, and comes
// before the handshake.
//
// These classes are the two ends' state machines, without I/O. All frames have
// the request id kConnectionId. Not thread-safe.

#ifndef PERSIA_CC_WIRE_HANDSHAKE_H_
#define PERSIA_CC_WIRE_HANDSHAKE_H_

#include <cstdint>
#include <string>

#include "cc/base/status.h"
#include "cc/wire/frame.h"
#include "cc/wire/handshake_messages.h"

namespace persia {

// The largest frame body that is accepted from a peer that has not proved
// itself, so that such a peer cannot make this end allocate more. The longest
// frame of a handshake is an Error.
inline constexpr uint64_t kMaxHandshakeBodyBytes = 4096;

class ServerHandshake {
 public:
  explicit ServerHandshake(std::string token) : token_(std::move(token)) {}

  // Consumes the client's next frame and sets the reply. If this returns an
  // error, the caller must send it to the client and close the connection.
  // Errors:
  // - kUnauthenticated for a request before the handshake; the message says how
  //   to configure a token
  // - kPermissionDenied for a wrong proof
  // - kDataLoss for a frame that is not allowed at this point
  // - kInternal if the system cannot supply random bytes or compute a proof
  Status Take(MessageType type, ConstBytes body, OutFrame* reply);

  // Whether the server has sent its proof and awaits the client's. A client
  // that closes the connection in this state has found the server's proof
  // wrong.
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

  // Sets the first frame to send. kInternal if the system supplies no random
  // bytes.
  Status Start(OutFrame* hello);

  // Consumes the server's next frame, and sets `*next`, the frame to send,
  // unless the handshake is done. Errors: the server's error, if it sent one;
  // kPermissionDenied if the server's proof is wrong; kDataLoss for a frame
  // that is not allowed at this point; kInternal if no proof can be computed.
  Status Take(MessageType type, ConstBytes body, OutFrame* next);

  // Whether both ends have proved themselves.
  bool is_done() const { return state_ == State::kDone; }

 private:
  enum class State { kGreeting, kProving, kDone };

  Status TakeChallenge(ConstBytes body, OutFrame* next);

  const std::string token_;
  State state_ = State::kGreeting;
  Nonce nonce_;
};

// The error that a server without a token sends to a client that has one.
Status NoTokenHere();

}  // namespace persia

#endif  // PERSIA_CC_WIRE_HANDSHAKE_H_
