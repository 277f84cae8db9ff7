#include "cc/wire/handshake.h"

#include "cc/base/hmac_sha256.h"
#include "cc/base/random_bytes.h"
#include "cc/wire/messages.h"

namespace persia {
namespace {

Proof ServerProof(const std::string& token, const Nonce& client,
                  const Nonce& server) {
  return HmacSha256(token, {AsBytes("server"), client, server});
}

Proof ClientProof(const std::string& token, const Nonce& client,
                  const Nonce& server) {
  return HmacSha256(token, {AsBytes("client"), server, client});
}

Status TokenWanted() {
  return Status(Code::kUnauthenticated,
                "this server wants a token: give the client "
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

Status OutOfPlace(MessageType type) {
  return Status(Code::kDataLoss,
                Concat("a message of type ", static_cast<int>(type),
                       " has no place at this point of a handshake"));
}

bool IsOfHandshake(MessageType type) {
  return type >= MessageType::kHello && type <= MessageType::kWelcome;
}

}  // namespace

Status NoTokenHere() {
  return Status(Code::kUnauthenticated,
                "this server has no token to prove who it is, and the client "
                "has one: start the server with the client's "
                "--auth-token-file, or give the client none");
}

Status ServerHandshake::Take(MessageType type, ConstBytes body,
                             OutFrame* reply) {
  if (!IsOfHandshake(type)) return TokenWanted();  // A request came first.
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
  *reply = EncodeChallenge(
      {server_nonce_, ServerProof(token_, client_nonce_, server_nonce_)});
  state_ = State::kChallenging;
  return Status();
}

Status ServerHandshake::TakeProof(ConstBytes body, OutFrame* reply) {
  Proof proof;
  PERSIA_RETURN_IF_ERROR(DecodeProof(body, &proof));
  if (!EqualInConstantTime(proof,
                           ClientProof(token_, client_nonce_, server_nonce_))) {
    return WrongToken("the client does not have this server's token");
  }
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
  if (!EqualInConstantTime(challenge.proof,
                           ServerProof(token_, nonce_, challenge.nonce))) {
    return WrongToken("the server does not have this client's token");
  }
  *next = EncodeProof(ClientProof(token_, nonce_, challenge.nonce));
  state_ = State::kProving;
  return Status();
}

}  // namespace persia
