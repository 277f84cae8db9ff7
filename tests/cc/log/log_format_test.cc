#include "cc/log/log_format.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "cc/base/crc32c.h"
#include "tests/cc/log/log_fixture.h"

namespace persia {
namespace {

std::string Hex(const std::vector<uint8_t>& bytes) {
  std::string text;
  char digits[3];
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0 && i % 8 == 0) text += '\n';
    std::snprintf(digits, sizeof(digits), "%02x", bytes[i]);
    text += digits;
  }
  return text;
}

Span<const uint8_t> BytesOf(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TEST(LogFormatTest, ALogHasTheseBytes) {
  const MemoryImage image = ImageOf({"123456789", ""});
  ASSERT_EQ(image.size(), 1u);
  EXPECT_EQ(image.begin()->first, "log/log-00000000000000000001");
  EXPECT_EQ(Hex(image.begin()->second.bytes),
            // Magic and version; number; first position; zeros; checksum.
            "504c473104000100\n"
            "0100000000000000\n"
            "0000000000000000\n"
            "0000000000000000\n"
            "000000002978b0b5\n"
            // Length and type; position; safe; checksums; body.
            "0900000010000000\n"
            "0000000000000000\n"
            "0000000000000000\n"
            "685cbb2de3b2e2c4\n"
            "3132333435363738\n"
            "3900000000000000\n"
            // The same of a record without a body.
            "0000000007000000\n"
            "0100000000000000\n"
            "0100000000000000\n"
            "000000005d3220d8");
}

TEST(LogFormatTest, DecodesWhatWasEncoded) {
  uint8_t bytes[kSegmentHeaderBytes];
  EncodeSegmentHeader({7, 1ull << 40, SyncMode::kSystem}, bytes);
  const auto segment = DecodeSegmentHeader(bytes);
  ASSERT_TRUE(segment.ok());
  EXPECT_EQ(segment->number, 7u);
  EXPECT_EQ(segment->first_position, 1ull << 40);
  EXPECT_EQ(segment->sync, SyncMode::kSystem);

  RecordHeader record;
  EncodeRecordHeader({9, 0xffee, 1ull << 50, 1ull << 49, 0x12345678},
                     Span<uint8_t, kRecordHeaderBytes>(bytes, 32));
  ASSERT_TRUE(DecodeRecordHeader({bytes, 32}, &record));
  EXPECT_EQ(record.body_bytes, 9u);
  EXPECT_EQ(record.type, 0xffee);
  EXPECT_EQ(record.position, 1ull << 50);
  EXPECT_EQ(record.safe, 1ull << 49);
  EXPECT_EQ(record.body_crc, 0x12345678u);
}

// A segment's header with some bytes set, and its checksum mended.
class ChangedHeader {
 public:
  ChangedHeader() { EncodeSegmentHeader({1, 0}, bytes_); }

  Status StatusWith(size_t at, uint8_t byte) {
    bytes_[at] = byte;
    const Status unmended = DecodeSegmentHeader(bytes_).status();
    EXPECT_EQ(unmended.code(), Code::kDataLoss);
    const uint32_t crc = Crc32c(bytes_, 36);
    std::memcpy(bytes_ + 36, &crc, sizeof(crc));
    return DecodeSegmentHeader(bytes_).status();
  }

 private:
  uint8_t bytes_[kSegmentHeaderBytes];
};

TEST(LogFormatTest, AnotherVersionIsNamed) {
  for (const uint8_t version : {kLogVersion - 1, kLogVersion + 1}) {
    const Status status = ChangedHeader().StatusWith(4, version);
    EXPECT_EQ(status.code(), Code::kFailedPrecondition);
    EXPECT_NE(
        status.message().find(Concat("version ", int{version},
                                     ", but this program reads version 4")),
        std::string::npos)
        << status.message();
  }
}

TEST(LogFormatTest, APromiseThatThereIsNotIsNoHeader) {
  for (const uint8_t sync : {0, 3}) {
    EXPECT_EQ(ChangedHeader().StatusWith(6, sync).code(), Code::kDataLoss);
  }
}

TEST(LogFormatTest, ZerosAndShortBytesAreNoHeader) {
  const std::vector<uint8_t> zeros(kSegmentHeaderBytes);
  RecordHeader record;
  EXPECT_FALSE(DecodeRecordHeader(zeros, &record));
  EXPECT_FALSE(DecodeSegmentHeader(zeros).ok());
  uint8_t bytes[kSegmentHeaderBytes];
  EncodeSegmentHeader({1, 0}, bytes);
  EXPECT_FALSE(DecodeSegmentHeader({bytes, kSegmentHeaderBytes - 1}).ok());
  EncodeRecordHeader({}, Span<uint8_t, kRecordHeaderBytes>(bytes, 32));
  EXPECT_TRUE(DecodeRecordHeader({bytes, 32}, &record));
  EXPECT_FALSE(DecodeRecordHeader({bytes, 31}, &record));
}

TEST(LogFormatTest, ABodyBeyondTheLimitIsNoRecord) {
  uint8_t bytes[kRecordHeaderBytes];
  RecordHeader header;
  header.body_bytes = kMaxLogBodyBytes;
  EncodeRecordHeader(header, bytes);
  EXPECT_TRUE(DecodeRecordHeader(bytes, &header));
  ++header.body_bytes;
  EncodeRecordHeader(header, bytes);
  EXPECT_FALSE(DecodeRecordHeader(bytes, &header));
}

TEST(LogFormatTest, AFieldThatMustBeZeroIs) {
  uint8_t bytes[kRecordHeaderBytes];
  RecordHeader header;
  EncodeRecordHeader(header, bytes);
  bytes[6] = 1;
  const uint32_t crc = Crc32c(bytes, 28);
  std::memcpy(bytes + 28, &crc, sizeof(crc));
  EXPECT_FALSE(DecodeRecordHeader(bytes, &header));
}

TEST(LogFormatTest, AChecksumIsOfAllPartsAndTheirPadding) {
  const std::string whole = std::string("123456789") + std::string(7, '\0');
  const Span<const uint8_t> parts[] = {BytesOf(whole).first(3),
                                       BytesOf(whole).subspan(3, 6)};
  EXPECT_EQ(BodyCrc(parts), Crc32c(whole.data(), whole.size()));
}

}  // namespace
}  // namespace persia
