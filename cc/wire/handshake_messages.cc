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

}  // namespace

OutFrame EncodeHello(const Nonce& client_nonce) {
  FrameWriter writer;
  writer.Bytes(client_nonce);
  return writer.Seal(MessageType::kHello, kConnectionId);
}

OutFrame EncodeChallenge(const Challenge& challenge) {
  FrameWriter writer;
  writer.Bytes(challenge.nonce);
  writer.Bytes(challenge.proof);
  return writer.Seal(MessageType::kChallenge, kConnectionId);
}

OutFrame EncodeProof(const Proof& proof) {
  FrameWriter writer;
  writer.Bytes(proof);
  return writer.Seal(MessageType::kProof, kConnectionId);
}

OutFrame EncodeWelcome() {
  return FrameWriter().Seal(MessageType::kWelcome, kConnectionId);
}

Status DecodeHello(ConstBytes body, Nonce* client_nonce) {
  ByteReader reader(body);
  ReadBytes(&reader, client_nonce);
  return reader.Finish("Hello");
}

Status DecodeChallenge(ConstBytes body, Challenge* challenge) {
  ByteReader reader(body);
  ReadBytes(&reader, &challenge->nonce);
  ReadBytes(&reader, &challenge->proof);
  return reader.Finish("Challenge");
}

Status DecodeProof(ConstBytes body, Proof* proof) {
  ByteReader reader(body);
  ReadBytes(&reader, proof);
  return reader.Finish("Proof");
}

Status DecodeWelcome(ConstBytes body) {
  return ByteReader(body).Finish("Welcome");
}

}  // namespace persia
