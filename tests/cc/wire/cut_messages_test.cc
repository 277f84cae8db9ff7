// Every message with bytes missing at its end, or with one too many.

#include <gtest/gtest.h>

#include <type_traits>
#include <vector>

#include "tests/cc/support/sample_messages.h"
#include "tests/cc/wire/expect_bytes.h"

namespace persia {
namespace {

// The shape of the vectors in the samples of lookup replies.
constexpr VectorsShape kShape = {5, 2};

template <typename Request>
Status DecodeAsRequest(ConstBytes body) {
  Request request;
  [[maybe_unused]] ByteBuffer unpacked;
  if constexpr (std::is_same_v<Request, LookupRequest>) {
    WireDtype dtype;
    return DecodeLookup(body, &request, &dtype, &unpacked);
  } else if constexpr (std::is_same_v<Request, UpdateRequest>) {
    std::vector<WireVectors> gradients;
    return DecodeUpdate(body, &request, &gradients, &unpacked);
  } else {
    return DecodeRequest(body, &request);
  }
}

template <typename Request>
Status DecodeAsReply(ConstBytes body) {
  if constexpr (std::is_same_v<Request, LookupRequest>) {
    uint64_t generation;
    std::vector<WireVectors> rows;
    return DecodeLookupReply(body, {kShape}, &generation, &rows);
  } else {
    return AsReply<Request>(body);
  }
}

Status Decode(MessageType type, const std::vector<uint8_t>& bytes) {
  const Body body(bytes);
  if (type == MessageType::kError) {
    const Status error = DecodeError(body.bytes());
    return error.code() == Code::kNotFound ? Status() : error;
  }
  Status status(Code::kInternal, "this is no request or reply");
  ForRequestOf(type, [&](auto* typed) {
    using Request = std::remove_pointer_t<decltype(typed)>;
    status = DecodeAsRequest<Request>(body.bytes());
  });
  ForRequestOf(RequestTypeOf(type), [&](auto* typed) {
    using Request = std::remove_pointer_t<decltype(typed)>;
    status = DecodeAsReply<Request>(body.bytes());
  });
  return status;
}

void ExpectOnlyWholeDecodes(const SampleMessage& message) {
  const auto number = static_cast<int>(message.type);
  const Status whole = Decode(message.type, message.body);
  EXPECT_TRUE(whole.ok()) << number << whole.message();
  std::vector<uint8_t> bytes = message.body;
  for (const size_t extra : {1, 8}) {
    bytes.resize(message.body.size() + extra);
    EXPECT_EQ(Decode(message.type, bytes).code(), Code::kDataLoss) << number;
  }
  for (size_t size = message.body.size(); size-- > 0;) {
    bytes.resize(size);
    EXPECT_EQ(Decode(message.type, bytes).code(), Code::kDataLoss)
        << number << " cut to " << size;
  }
}

// Samples of the handshake are tested in handshake_messages_test.cc.
void ExpectOnlyWholeDecode(const std::vector<SampleMessage>& messages) {
  for (const SampleMessage& message : messages) {
    if (message.type < MessageType::kHello) ExpectOnlyWholeDecodes(message);
  }
}

TEST(CutMessagesTest, RequestsAreRefused) {
  ExpectOnlyWholeDecode(SampleRequests());
}

TEST(CutMessagesTest, RepliesAreRefused) {
  ExpectOnlyWholeDecode(SampleReplies());
}

}  // namespace
}  // namespace persia
