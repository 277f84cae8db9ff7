#include "cc/wire/handshake_messages.h"

#include <algorithm>

#include "cc/wire/byte_io.h"

namespace persia {
namespace {

void ReadBytes(Reader* reader, std::array<uint8_t, 32>* bytes) {
  const Span<const uint8_t> found = reader->Array<uint8_t>(bytes->size());
  if (!reader->failed()) std::copy(found.begin(), found.end(), bytes->begin());
}

}  // namespace

OutFrame EncodeHello(const Nonce& client_nonce) {
  Writer writer;
  writer.Bytes(client_nonce);
  return writer.Seal(MessageType::kHello, kConnectionId);
}

OutFrame EncodeChallenge(const Challenge& challenge) {
  Writer writer;
  writer.Bytes(challenge.nonce);
  writer.Bytes(challenge.proof);
  return writer.Seal(MessageType::kChallenge, kConnectionId);
}

OutFrame EncodeProof(const Proof& proof) {
  Writer writer;
  writer.Bytes(proof);
  return writer.Seal(MessageType::kProof, kConnectionId);
}

OutFrame EncodeWelcome() {
  return Writer().Seal(MessageType::kWelcome, kConnectionId);
}

Status DecodeHello(ConstBytes body, Nonce* client_nonce) {
  Reader reader(body);
  ReadBytes(&reader, client_nonce);
  return reader.Finish("Hello");
}

Status DecodeChallenge(ConstBytes body, Challenge* challenge) {
  Reader reader(body);
  ReadBytes(&reader, &challenge->nonce);
  ReadBytes(&reader, &challenge->proof);
  return reader.Finish("Challenge");
}

Status DecodeProof(ConstBytes body, Proof* proof) {
  Reader reader(body);
  ReadBytes(&reader, proof);
  return reader.Finish("Proof");
}

Status DecodeWelcome(ConstBytes body) { return Reader(body).Finish("Welcome"); }

}  // namespace persia
