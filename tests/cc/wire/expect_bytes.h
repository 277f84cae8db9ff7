// What tests of messages share: encoding, decoding and comparing their bytes.

#ifndef PERSIA_TESTS_CC_WIRE_EXPECT_BYTES_H_
#define PERSIA_TESTS_CC_WIRE_EXPECT_BYTES_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "cc/wire/messages.h"
#include "tests/cc/wire/frame_bytes.h"

namespace persia {

template <typename Request>
Status AsRequest(ConstBytes body) {
  Request request;
  return DecodeRequest(body, &request);
}

template <typename Request>
Status AsReply(ConstBytes body) {
  Request request;
  return DecodeReply(body, &request);
}

// What the receiver of the encoded request, or of its reply, finds wrong with
// it.
template <typename Request>
Status Received(const Request& request) {
  return AsRequest<Request>(Body(EncodeRequest(1, request)).bytes());
}

template <typename Request>
Status ReceivedReply(const Request& request) {
  return AsReply<Request>(Body(EncodeReply(1, request)).bytes());
}

// Expects that the request's body is `hex`, and that the request decoded from
// it has the same body. If every field has a value of its own, this finds a
// field that is lost or taken for another.
template <typename Request>
void ExpectBytes(const Request& request, const std::string& hex) {
  const Body body(EncodeRequest(1, request));
  EXPECT_EQ(Hex(body.bytes()), hex);
  Request back;
  const Status status = DecodeRequest(body.bytes(), &back);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(Hex(Body(EncodeRequest(1, back)).bytes()), hex);
}

// The same for a reply.
template <typename Request>
void ExpectReplyBytes(const Request& request, const std::string& hex) {
  const Body body(EncodeReply(1, request));
  EXPECT_EQ(Hex(body.bytes()), hex);
  Request back;
  const Status status = DecodeReply(body.bytes(), &back);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(Hex(Body(EncodeReply(1, back)).bytes()), hex);
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_WIRE_EXPECT_BYTES_H_
