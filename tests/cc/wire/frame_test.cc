#include "cc/wire/frame.h"

#include <gtest/gtest.h>

#include <vector>

#include "cc/base/crc32c.h"
#include "tests/cc/wire/frame_bytes.h"

namespace persia {
namespace {

constexpr uint8_t kOtherVersion = kProtocolVersion + 1;
constexpr uint8_t kFirst[] = {'1', '2', '3'};
constexpr uint8_t kSecond[] = {'4', '5', '6', '7', '8', '9'};

// A frame whose body is "123456789".
OutFrame NineBytes(MessageType type = kRequestType<LookupRequest>) {
  OutFrame frame;
  frame.head.resize(kFrameHeaderBytes);
  frame.head.insert(frame.head.end(), std::begin(kFirst), std::end(kFirst));
  frame.payload.emplace_back(kSecond);
  SealFrame(type, 0x1122334455667788, &frame);
  return frame;
}

Status Parse(const OutFrame& frame, FrameHeader* header,
             uint64_t max_body_bytes = kMaxBodyBytes) {
  return ParseFrameHeader(Span<const uint8_t, kFrameHeaderBytes>(
                              frame.head.data(), kFrameHeaderBytes),
                          max_body_bytes, header);
}

// Corrects the header's checksum after a change.
void Reseal(OutFrame* frame) {
  const uint32_t crc = Crc32c(frame->head.data(), 28);
  std::memcpy(frame->head.data() + 28, &crc, sizeof(crc));
}

TEST(FrameTest, HeaderHasTheseBytes) {
  const OutFrame frame = NineBytes();
  // Magic, version, type; request id; body length; checksums.
  EXPECT_EQ(Hex(ConstBytes(frame.head.data(), 28)),
            "505253310e000400\n"
            "8877665544332211\n"
            "0900000000000000\n"
            "839206e3");
  const uint32_t header_crc = Crc32c(frame.head.data(), 28);
  EXPECT_EQ(std::memcmp(frame.head.data() + 28, &header_crc, 4), 0);
}

TEST(FrameTest, ParsesWhatWasSealed) {
  FrameHeader header;
  ASSERT_TRUE(Parse(NineBytes(), &header).ok());
  EXPECT_EQ(header.version, kProtocolVersion);
  EXPECT_EQ(header.type, kRequestType<LookupRequest>);
  EXPECT_EQ(header.request_id, 0x1122334455667788u);
  EXPECT_EQ(header.body_bytes, 9u);
  const std::vector<uint8_t> bytes = FrameBytes(NineBytes());
  EXPECT_TRUE(CheckBody(header, ConstBytes(bytes.data() + 32, 9)).ok());
}

TEST(FrameTest, EveryFlippedBitOfAHeaderIsRefused) {
  for (size_t bit = 0; bit < kFrameHeaderBytes * 8; ++bit) {
    OutFrame frame = NineBytes();
    frame.head[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    FrameHeader header;
    EXPECT_EQ(Parse(frame, &header).code(), Code::kDataLoss) << bit;
  }
}

TEST(FrameTest, EveryFlippedBitOfABodyIsRefused) {
  const OutFrame frame = NineBytes();
  FrameHeader header;
  ASSERT_TRUE(Parse(frame, &header).ok());
  for (size_t bit = 0; bit < 9 * 8; ++bit) {
    std::vector<uint8_t> bytes = FrameBytes(frame);
    bytes[32 + bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    EXPECT_EQ(CheckBody(header, ConstBytes(bytes.data() + 32, 9)).code(),
              Code::kDataLoss)
        << bit;
  }
}

TEST(FrameTest, BodyOfAnotherLengthIsRefused) {
  FrameHeader header;
  ASSERT_TRUE(Parse(NineBytes(), &header).ok());
  const std::vector<uint8_t> bytes = FrameBytes(NineBytes());
  EXPECT_EQ(CheckBody(header, ConstBytes(bytes.data() + 32, 8)).code(),
            Code::kDataLoss);
}

TEST(FrameTest, BadMagicSaysThatAnotherProgramMayBeThere) {
  OutFrame frame = NineBytes();
  std::memcpy(frame.head.data(), "HTTP", 4);
  Reseal(&frame);
  FrameHeader header;
  const Status status = Parse(frame, &header);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_NE(status.message().find("another program"), std::string::npos);
}

TEST(FrameTest, UnknownMessageTypesAreRefused) {
  for (const uint16_t type : {0, 34, 99, 104, 0xffff}) {
    FrameHeader header;
    const Status status =
        Parse(NineBytes(static_cast<MessageType>(type)), &header);
    EXPECT_EQ(status.code(), Code::kDataLoss);
    EXPECT_NE(status.message().find(std::to_string(type)), std::string::npos);
  }
}

TEST(FrameTest, OtherVersionIsToldWithItsRequest) {
  OutFrame frame = NineBytes();
  frame.head[4] = kOtherVersion;
  Reseal(&frame);
  FrameHeader header;
  EXPECT_EQ(Parse(frame, &header).code(), Code::kFailedPrecondition);
  EXPECT_EQ(header.version, kOtherVersion);
  EXPECT_EQ(header.request_id, 0x1122334455667788u);
}

TEST(FrameTest, OtherVersionIsToldWhateverElseItSays) {
  OutFrame frame = NineBytes(static_cast<MessageType>(999));
  frame.head[4] = kOtherVersion;
  frame.head[23] = 0xff;  // A body of 2^63 bytes and more.
  Reseal(&frame);
  FrameHeader header;
  EXPECT_EQ(Parse(frame, &header).code(), Code::kFailedPrecondition);
}

TEST(FrameTest, BodyOverTheLimitIsRefused) {
  FrameHeader header;
  EXPECT_TRUE(Parse(NineBytes(), &header, 9).ok());
  EXPECT_EQ(Parse(NineBytes(), &header, 8).code(), Code::kResourceExhausted);
}

}  // namespace
}  // namespace persia
