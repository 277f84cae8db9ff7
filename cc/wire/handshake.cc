#include "cc/wire/handshake.h"

#include "cc/base/random_bytes.h"
#include "cc/tls/hmac_sha256.h"
#include "cc/wire/messages.h"

namespace persia {
namespace {

Result<Proof> ServerProof(const std::string& token, const Nonce& client,
                          const Nonce& server) {
  return HmacSha256(token, {AsBytes("server"), client, server});
}

Result<Proof> ClientProof(const std::string& token, const Nonce& client,
                          const Nonce& server) {
  return HmacSha256(token, {AsBytes("client"), server, client});
}

Status TokenWanted() {
  return Status(Code::kUnauthenticated,
                "this server requires a token: give the client "
                "--auth-token-file, $PERSIA_AUTH_TOKEN_FILE or "
                "Cluster(auth_token_file=...)");
}

Status WrongToken(const char* whose) {
  return Status(Code::kPermissionDenied,
                Concat(whose,
                       ": give both the same --auth-token-file (or "
                       "$PERSIA_AUTH_TOKEN_FILE, or "
                       "Cluster(auth_token_file=...))"));
}

// Returns kPermissionDenied, with the text `error`, unless a peer's proof
// equals the expected one.
Status CheckProof(const Proof& proof, const Result<Proof>& wanted,
                  const char* error) {
  if (!wanted.ok()) return wanted.status();
  return EqualInConstantTime(proof, *wanted) ? Status() : WrongToken(error);
}

Status OutOfPlace(MessageType type) {
  return Status(Code::kDataLoss,
                Concat("a message of type ", static_cast<int>(type),
                       " is not allowed at this point of a handshake"));
}

bool IsOfHandshake(MessageType type) {
  return type >= MessageType::kHello && type <= MessageType::kWelcome;
}

}  // namespace

Status NoTokenHere() {
  return Status(Code::kUnauthenticated,
                "the client has a token, but this server has none to prove "
                "its identity: start the server with the client's "
                "--auth-token-file, or give the client no token");
}

Status ServerHandshake::Take(MessageType type, ConstBytes body,
                             OutFrame* reply) {
  // The client sent a request before the handshake.
  if (!IsOfHandshake(type)) return TokenWanted();
  if (state_ == State::kNew && type == MessageType::kHello) {
    return TakeHello(body, reply);
  }
  if (state_ == State::kChallenging && type == MessageType::kProof) {
    return TakeProof(body, reply);
  }
  return OutOfPlace(type);
}

Status ServerHandshake::TakeHello(ConstBytes body, OutFrame* reply) {
  PERSIA_RETURN_IF_ERROR(DecodeHello(body, &client_nonce_));
  PERSIA_RETURN_IF_ERROR(FillWithRandomBytes(server_nonce_));
  const auto proof = ServerProof(token_, client_nonce_, server_nonce_);
  if (!proof.ok()) return proof.status();
  *reply = EncodeChallenge({server_nonce_, *proof});
  state_ = State::kChallenging;
  return Status();
}

Status ServerHandshake::TakeProof(ConstBytes body, OutFrame* reply) {
  Proof proof;
  PERSIA_RETURN_IF_ERROR(DecodeProof(body, &proof));
  PERSIA_RETURN_IF_ERROR(
      CheckProof(proof, ClientProof(token_, client_nonce_, server_nonce_),
                 "the client does not have this server's token"));
  *reply = EncodeWelcome();
  state_ = State::kDone;
  return Status();
}

Status ClientHandshake::Start(OutFrame* hello) {
  PERSIA_RETURN_IF_ERROR(FillWithRandomBytes(nonce_));
  *hello = EncodeHello(nonce_);
  return Status();
}

Status ClientHandshake::Take(MessageType type, ConstBytes body,
                             OutFrame* next) {
  if (type == MessageType::kError) return DecodeError(body);
  if (state_ == State::kGreeting && type == MessageType::kChallenge) {
    return TakeChallenge(body, next);
  }
  if (state_ == State::kProving && type == MessageType::kWelcome) {
    PERSIA_RETURN_IF_ERROR(DecodeWelcome(body));
    state_ = State::kDone;
    return Status();
  }
  return OutOfPlace(type);
}

Status ClientHandshake::TakeChallenge(ConstBytes body, OutFrame* next) {
  Challenge challenge;
  PERSIA_RETURN_IF_ERROR(DecodeChallenge(body, &challenge));
  PERSIA_RETURN_IF_ERROR(
      CheckProof(challenge.proof, ServerProof(token_, nonce_, challenge.nonce),
                 "the server does not have this client's token"));
  const auto proof = ClientProof(token_, nonce_, challenge.nonce);
  if (!proof.ok()) return proof.status();
  *next = EncodeProof(*proof);
  state_ = State::kProving;
  return Status();
}

}  // namespace persia
