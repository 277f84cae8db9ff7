// What a server does with a peer that does not speak its protocol.

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "cc/base/crc32c.h"
#include "tests/cc/server/server_fixture.h"

namespace persia {
namespace {

class BadFramesTest : public ServerFixture {
 protected:
  BadFramesTest() {
    ServerOptions options;
    options.max_body_bytes = 1 << 20;
    StartServerWith(options);
    healthy_.emplace(Connect());
    ExpectServed(&*healthy_);
  }

  // The bytes of a lookup's frame.
  std::vector<uint8_t> Bytes() {
    const OutFrame frame = LookupFrame(9);
    std::vector<uint8_t> bytes = frame.head;
    for (const ConstBytes part : frame.payload) {
      bytes.insert(bytes.end(), part.begin(), part.end());
    }
    return bytes;
  }

  template <typename T>
  static void Change(std::vector<uint8_t>* bytes, size_t at, T value) {
    std::memcpy(bytes->data() + at, &value, sizeof(value));
    const uint32_t crc = Crc32c(bytes->data(), 28);
    std::memcpy(bytes->data() + 28, &crc, sizeof(crc));
  }

  // Expects that another client goes on, and the offender is dropped and
  // counted.
  void ExpectDropped(RawSocket* offender) {
    EXPECT_TRUE(offender->WaitForEnd());
    ExpectServed(&*healthy_, 2);
    EXPECT_EQ(AskForStats().bad_frames, 1u);
  }

  void ExpectDroppedFor(const std::vector<uint8_t>& bytes) {
    RawSocket offender = Connect();
    ExpectServed(&offender);
    offender.Send(bytes);
    ExpectDropped(&offender);
  }

  std::optional<RawSocket> healthy_;
};

TEST_F(BadFramesTest, AnotherProtocolIsDropped) {
  const std::string text =
      "GET / HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n";
  ExpectDroppedFor(std::vector<uint8_t>(text.begin(), text.end()));
}

TEST_F(BadFramesTest, CorruptHeaderIsDropped) {
  std::vector<uint8_t> bytes = Bytes();
  bytes[9] ^= 1;
  ExpectDroppedFor(bytes);
}

TEST_F(BadFramesTest, CorruptBodyIsDropped) {
  std::vector<uint8_t> bytes = Bytes();
  bytes.back() ^= 1;
  ExpectDroppedFor(bytes);
}

TEST_F(BadFramesTest, UnknownMessageTypeIsDropped) {
  std::vector<uint8_t> bytes = Bytes();
  Change<uint16_t>(&bytes, 6, 999);
  ExpectDroppedFor(bytes);
}

TEST_F(BadFramesTest, ReplyInsteadOfARequestIsDropped) {
  std::vector<uint8_t> bytes = Bytes();
  Change<uint16_t>(&bytes, 6, static_cast<uint16_t>(kReplyType<StatsRequest>));
  ExpectDroppedFor(bytes);
}

TEST_F(BadFramesTest, BodyOverTheLimitIsRefusedThenDropped) {
  RawSocket offender = Connect();
  std::vector<uint8_t> bytes = Bytes();
  Change<uint64_t>(&bytes, 16, (1 << 20) + 1);
  offender.Send(bytes);
  EXPECT_EQ(ExpectError(&offender, 9).code(), Code::kResourceExhausted);
  ExpectDropped(&offender);
}

TEST_F(BadFramesTest, BodyOf2To64BytesIsRefusedThenDropped) {
  RawSocket offender = Connect();
  std::vector<uint8_t> bytes = Bytes();
  Change<uint64_t>(&bytes, 16, ~uint64_t{0});
  offender.Send(bytes);
  EXPECT_EQ(ExpectError(&offender, 9).code(), Code::kResourceExhausted);
  ExpectDropped(&offender);
}

TEST_F(BadFramesTest, OtherVersionIsToldThenDropped) {
  RawSocket offender = Connect();
  std::vector<uint8_t> bytes = Bytes();
  Change<uint16_t>(&bytes, 4, kProtocolVersion + 1);
  offender.Send(bytes);
  const Status status = ExpectError(&offender, 9);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_EQ(status.message(),
            Concat("this server speaks protocol version ", kProtocolVersion,
                   ", the client ", kProtocolVersion + 1,
                   ": use the same persia_tf version on both"));
  ExpectDropped(&offender);
}

TEST_F(BadFramesTest, RequestsBeforeAnotherVersionAreAnswered) {
  service_.Hold();
  RawSocket offender = Connect();
  offender.Send(LookupFrame(5));
  service_.WaitForHeld(1);
  std::vector<uint8_t> bytes = Bytes();
  Change<uint16_t>(&bytes, 4, kProtocolVersion + 1);
  offender.Send(bytes);
  EXPECT_EQ(ExpectError(&offender, 9).code(), Code::kFailedPrecondition);
  service_.ReleaseAll();
  EXPECT_EQ(offender.ReceiveFrame().header.request_id, 5u);
  ExpectDropped(&offender);
}

TEST_F(BadFramesTest, FrameThatEndsEarlyIsCounted) {
  const std::vector<uint8_t> bytes = Bytes();
  uint64_t bad_frames = 0;
  for (const size_t size :
       {size_t{1}, size_t{31}, size_t{32}, bytes.size() - 1}) {
    {
      RawSocket offender = Connect();
      offender.Send(std::vector<uint8_t>(bytes.begin(), bytes.begin() + size));
    }
    ++bad_frames;
    const Deadline deadline = Clock::now() + kHang;
    while (AskForStats().bad_frames < bad_frames && Clock::now() < deadline) {
    }
    EXPECT_EQ(AskForStats().bad_frames, bad_frames) << size;
  }
  ExpectServed(&*healthy_, 2);
}

TEST_F(BadFramesTest, OffenderWithRequestsInFlightIsDropped) {
  service_.Hold();
  RawSocket offender = Connect();
  offender.Send(LookupFrame(5));
  service_.WaitForHeld(1);
  offender.Send(std::vector<uint8_t>(32, 0));
  EXPECT_TRUE(offender.WaitForEnd());
  service_.ReleaseAll();  // The connection that the answer belongs to is gone.
  ExpectServed(&*healthy_, 2);
  EXPECT_EQ(AskForStats().bad_frames, 1u);
}

}  // namespace
}  // namespace persia
