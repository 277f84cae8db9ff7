#include "cc/wire/handshake_messages.h"

#include <algorithm>

#include "cc/base/byte_reader.h"
#include "cc/wire/frame_writer.h"

namespace persia {
namespace {

void ReadBytes(ByteReader* reader, std::array<uint8_t, 32>* bytes) {
  const Span<const uint8_t> found = reader->Array<uint8_t>(bytes->size());
  if (!reader->failed()) std::copy(found.begin(), found.end(), bytes->begin());
}

template <typename... Parts>
OutFrame Encode(MessageType type, const Parts&... parts) {
  FrameWriter writer;
  (writer.Bytes(parts), ...);
  return writer.Seal(type, kConnectionId);
}

template <typename... Parts>
Status Decode(const char* name, ConstBytes body, Parts*... parts) {
  ByteReader reader(body);
  (ReadBytes(&reader, parts), ...);
  return reader.Finish(name);
}

}  // namespace

OutFrame EncodeHello(const Nonce& client_nonce) {
  return Encode(MessageType::kHello, client_nonce);
}

OutFrame EncodeChallenge(const Challenge& challenge) {
  return Encode(MessageType::kChallenge, challenge.nonce, challenge.proof);
}

OutFrame EncodeProof(const Proof& proof) {
  return Encode(MessageType::kProof, proof);
}

OutFrame EncodeWelcome() { return Encode(MessageType::kWelcome); }

Status DecodeHello(ConstBytes body, Nonce* client_nonce) {
  return Decode("Hello", body, client_nonce);
}

Status DecodeChallenge(ConstBytes body, Challenge* challenge) {
  return Decode("Challenge", body, &challenge->nonce, &challenge->proof);
}

Status DecodeProof(ConstBytes body, Proof* proof) {
  return Decode("Proof", body, proof);
}

Status DecodeWelcome(ConstBytes body) { return Decode("Welcome", body); }

}  // namespace persia
