// Any bytes as the body of each reply, as a client reads it.

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

// What a client asked for: the shape of the rows in the samples.
constexpr uint64_t kCount = 5;
constexpr uint32_t kDim = 2;

void ExpectSame(ConstBytes body, const OutFrame& again) {
  const std::vector<uint8_t> bytes = BodyOf(again);
  FuzzCheck(std::equal(body.begin(), body.end(), bytes.begin(), bytes.end()),
            "a reply that is decoded and encoded is the same");
}

void Error(ConstBytes body) {
  FuzzCheck(!DecodeError(body).ok(), "an Error is never good news");
}

// Whether a decoded reply may be encoded differently: texts of settings may
// arrive in a longer form than they are sent in, and an outcome without an
// error may arrive with a message, which is dropped.
template <typename Request>
constexpr bool kMayDiffer = std::is_same_v<Request, ChangesRequest> ||
                            std::is_same_v<Request, CheckpointRequest>;

template <typename Request>
void Reply(ConstBytes body) {
  Request request;
  if (!DecodeReply(body, &request).ok()) return;
  const OutFrame sent_on = EncodeReply(1, request);
  if (!kMayDiffer<Request>) return ExpectSame(body, sent_on);
  const ExactBytes again(BodyOf(sent_on));
  Request same;
  FuzzCheck(DecodeReply(again.bytes(), &same).ok(),
            "what was decoded can be sent on");
  ExpectSame(again.bytes(), EncodeReply(1, same));
}

template <>
void Reply<LookupRequest>(ConstBytes body) {
  LookupReplyHead head;
  (void)DecodeLookupReplyHead(
      body.first(std::min(kLookupReplyHeadBytes, body.size())), &head);
  uint64_t generation;
  std::vector<WireVectors> rows;
  if (!DecodeLookupReply(body, {{kCount, kDim}}, &generation, &rows).ok()) {
    return;
  }
  ExpectSame(body,
             EncodeLookupReply(1, generation, rows[0].dtype, {rows[0].bytes}));
  std::vector<float> floats(kCount * kDim);
  DecodeVectors(rows[0], VectorPlaces{kCount, 0, nullptr}, kDim, floats.data());
}

void ServerChallenge(ConstBytes body) {
  Challenge challenge;
  if (DecodeChallenge(body, &challenge).ok()) {
    ExpectSame(body, EncodeChallenge(challenge));
  }
}

}  // namespace

void FuzzOne(Span<const uint8_t> bytes) {
  if (bytes.empty()) return;
  const ExactBytes body(bytes.subspan(1));
  const auto type = static_cast<MessageType>(bytes[0]);
  if (type == MessageType::kError) return Error(body.bytes());
  if (type == MessageType::kChallenge) return ServerChallenge(body.bytes());
  if (type == MessageType::kWelcome) return (void)DecodeWelcome(body.bytes());
  ForRequestOf(RequestTypeOf(type), [&](auto* typed) {
    Reply<std::remove_pointer_t<decltype(typed)>>(body.bytes());
  });
}

std::vector<FuzzInput> Seeds() { return TypedInputs(SampleReplies()); }

}  // namespace persia
