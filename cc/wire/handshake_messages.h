// The messages of the handshake, which handshake.h explains:
//
//   Hello     = 32 bytes client nonce
//   Challenge = 32 bytes server nonce, 32 bytes proof
//   Proof     = 32 bytes proof
//   Welcome   = nothing
//
// Decoders return kDataLoss for a body that is not exactly one message.

#ifndef PERSIA_CC_WIRE_HANDSHAKE_MESSAGES_H_
#define PERSIA_CC_WIRE_HANDSHAKE_MESSAGES_H_

#include <array>
#include <cstdint>

#include "cc/base/status.h"
#include "cc/tls/hmac_sha256.h"
#include "cc/wire/frame.h"

namespace persia {

using Nonce = std::array<uint8_t, 32>;
using Proof = Sha256Digest;

struct Challenge {
  Nonce nonce;
  Proof proof;
};

OutFrame EncodeHello(const Nonce& client_nonce);
OutFrame EncodeChallenge(const Challenge& challenge);
OutFrame EncodeProof(const Proof& proof);
OutFrame EncodeWelcome();

Status DecodeHello(ConstBytes body, Nonce* client_nonce);
Status DecodeChallenge(ConstBytes body, Challenge* challenge);
Status DecodeProof(ConstBytes body, Proof* proof);
Status DecodeWelcome(ConstBytes body);

}  // namespace persia

#endif  // PERSIA_CC_WIRE_HANDSHAKE_MESSAGES_H_
