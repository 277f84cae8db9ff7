// Any bytes as the body of each request. A decoded request is encoded again,
// which must give the same bytes: each request has one encoding, and all bytes
// of a body are read.

#include <algorithm>
#include <type_traits>

#include "cc/wire/handshake_messages.h"
#include "cc/wire/messages.h"
#include "tests/cc/support/sample_body.h"
#include "tests/fuzz/support/exact_bytes.h"
#include "tests/fuzz/support/fuzz_check.h"
#include "tests/fuzz/support/typed_input.h"

namespace persia {
namespace {

void ExpectSame(ConstBytes body, const OutFrame& again) {
  const std::vector<uint8_t> bytes = BodyOf(again);
  FuzzCheck(std::equal(body.begin(), body.end(), bytes.begin(), bytes.end()),
            "a request that is decoded and encoded is the same");
}

template <typename Request>
void One(ConstBytes body) {
  Request request;
  if (!DecodeRequest(body, &request).ok()) return;
  const OutFrame sent_on = EncodeRequest(1, request);
  // Texts of settings may arrive in a longer form than they are sent in.
  if (!std::is_same_v<Request, CreateTableRequest>) {
    return ExpectSame(body, sent_on);
  }
  const ExactBytes again(BodyOf(sent_on));
  Request same;
  FuzzCheck(DecodeRequest(again.bytes(), &same).ok(),
            "what was decoded can be sent on");
  ExpectSame(again.bytes(), EncodeRequest(1, same));
}

template <>
void One<LookupRequest>(ConstBytes body) {
  LookupRequest request;
  WireDtype dtype;
  ByteBuffer unpacked;
  if (!DecodeLookup(body, &request, &dtype, &unpacked).ok()) return;
  ExpectSame(body, EncodeLookup(1, request, dtype));
}

template <>
void One<UpdateRequest>(ConstBytes body) {
  UpdateRequest request;
  std::vector<WireVectors> gradients;
  ByteBuffer unpacked;
  if (!DecodeUpdate(body, &request, &gradients, &unpacked).ok()) return;
  ExpectSame(body, EncodeUpdate(1, request, gradients));
  for (size_t t = 0; t < gradients.size(); ++t) {
    const TableIds& ids = request.tables[t].ids;
    std::vector<float> floats(ids.vectors() * ids.dim);
    DecodeVectors(gradients[t], VectorPlaces{ids.vectors(), 0, nullptr},
                  ids.dim, floats.data());
  }
}

void Hello(ConstBytes body) {
  Nonce nonce;
  if (DecodeHello(body, &nonce).ok()) ExpectSame(body, EncodeHello(nonce));
}

void ClientProof(ConstBytes body) {
  Proof proof;
  if (DecodeProof(body, &proof).ok()) ExpectSame(body, EncodeProof(proof));
}

}  // namespace

void FuzzOne(Span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  const ExactBytes body(bytes.subspan(1));
  const auto type = static_cast<MessageType>(bytes[0]);
  if (type == MessageType::kHello) return Hello(body.bytes());
  if (type == MessageType::kProof) return ClientProof(body.bytes());
  ForRequestOf(type, [&](auto* typed) {
    One<std::remove_pointer_t<decltype(typed)>>(body.bytes());
  });
}

std::vector<FuzzInput> Seeds() { return TypedInputs(SampleRequests()); }

}  // namespace persia
