#include "cc/log/log_format.h"

#include <cstring>

#include "cc/base/crc32c.h"
#include "cc/base/header_fields.h"

namespace persia {
namespace {

// The offsets of the fields in a segment header.
constexpr size_t kMagicAt = 0;
constexpr size_t kVersionAt = 4;
constexpr size_t kSyncAt = 6;
constexpr size_t kNumberAt = 8;
constexpr size_t kFirstPositionAt = 16;
constexpr size_t kSegmentCrcAt = 36;

// The offsets of the fields in a record header.
constexpr size_t kBodyBytesAt = 0;
constexpr size_t kTypeAt = 4;
constexpr size_t kZeroAt = 6;
constexpr size_t kPositionAt = 8;
constexpr size_t kSafeAt = 16;
constexpr size_t kBodyCrcAt = 24;
constexpr size_t kRecordCrcAt = 28;

// Returns whether the checksum at offset `at` of a header matches the bytes
// before it.
bool IsIntact(const uint8_t* header, size_t at) {
  return GetField<uint32_t>(header, at) == Crc32c(header, at);
}

}  // namespace

void EncodeSegmentHeader(const SegmentHeader& header,
                         Span<uint8_t, kSegmentHeaderBytes> bytes) {
  uint8_t* const to = bytes.data();
  std::memset(to, 0, kSegmentHeaderBytes);
  PutField(to, kMagicAt, kLogMagic);
  PutField(to, kVersionAt, kLogVersion);
  PutField(to, kSyncAt, static_cast<uint16_t>(header.sync));
  PutField(to, kNumberAt, header.number);
  PutField(to, kFirstPositionAt, header.first_position);
  PutField(to, kSegmentCrcAt, Crc32c(to, kSegmentCrcAt));
}

Result<SegmentHeader> DecodeSegmentHeader(Span<const uint8_t> bytes) {
  const Status no_header(Code::kDataLoss,
                         "it does not begin with a log segment's header");
  const uint8_t* const from = bytes.data();
  if (bytes.size() < kSegmentHeaderBytes ||
      GetField<uint32_t>(from, kMagicAt) != kLogMagic ||
      !IsIntact(from, kSegmentCrcAt)) {
    return no_header;
  }
  const auto version = GetField<uint16_t>(from, kVersionAt);
  if (version != kLogVersion) {
    return Status(Code::kFailedPrecondition,
                  Concat("it has log format version ", version,
                         ", but this program reads version ", kLogVersion,
                         ": use the persia_tf that wrote it"));
  }
  SegmentHeader header;
  header.sync = static_cast<SyncMode>(GetField<uint16_t>(from, kSyncAt));
  if (header.sync != SyncMode::kDevice && header.sync != SyncMode::kSystem) {
    return no_header;
  }
  header.number = GetField<uint64_t>(from, kNumberAt);
  header.first_position = GetField<uint64_t>(from, kFirstPositionAt);
  return header;
}

void EncodeRecordHeader(const RecordHeader& header,
                        Span<uint8_t, kRecordHeaderBytes> bytes) {
  uint8_t* const to = bytes.data();
  PutField(to, kBodyBytesAt, header.body_bytes);
  PutField(to, kTypeAt, header.type);
  PutField(to, kZeroAt, uint16_t{0});
  PutField(to, kPositionAt, header.position);
  PutField(to, kSafeAt, header.safe);
  PutField(to, kBodyCrcAt, header.body_crc);
  PutField(to, kRecordCrcAt, Crc32c(to, kRecordCrcAt));
}

bool DecodeRecordHeader(Span<const uint8_t> bytes, RecordHeader* header) {
  const uint8_t* const from = bytes.data();
  if (bytes.size() < kRecordHeaderBytes ||
      GetField<uint16_t>(from, kZeroAt) != 0 ||
      GetField<uint32_t>(from, kBodyBytesAt) > kMaxLogBodyBytes ||
      !IsIntact(from, kRecordCrcAt)) {
    return false;
  }
  header->body_bytes = GetField<uint32_t>(from, kBodyBytesAt);
  header->type = GetField<uint16_t>(from, kTypeAt);
  header->position = GetField<uint64_t>(from, kPositionAt);
  header->safe = GetField<uint64_t>(from, kSafeAt);
  header->body_crc = GetField<uint32_t>(from, kBodyCrcAt);
  return true;
}

uint32_t BodyCrc(Span<const Span<const uint8_t>> parts) {
  constexpr uint8_t kZeros[kLogAlignment] = {};
  uint64_t bytes = 0;
  uint32_t crc = 0;
  for (const Span<const uint8_t> part : parts) {
    bytes += part.size();
    crc = ExtendCrc32c(crc, part.data(), part.size());
  }
  return ExtendCrc32c(crc, kZeros, PaddedBytes(bytes) - bytes);
}

}  // namespace persia
