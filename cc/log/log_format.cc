#include "cc/log/log_format.h"

#include <cstring>

#include "cc/base/crc32c.h"

namespace persia {
namespace {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
              "headers are written as they lie in memory");

// Where a segment header's fields are.
constexpr size_t kMagicAt = 0;
constexpr size_t kVersionAt = 4;
constexpr size_t kNumberAt = 8;
constexpr size_t kFirstPositionAt = 16;
constexpr size_t kShardIndexAt = 24;
constexpr size_t kShardCountAt = 28;
constexpr size_t kSegmentCrcAt = 36;

// Where a record header's are.
constexpr size_t kBodyBytesAt = 0;
constexpr size_t kTypeAt = 4;
constexpr size_t kZeroAt = 6;
constexpr size_t kPositionAt = 8;
constexpr size_t kSyncedAt = 16;
constexpr size_t kBodyCrcAt = 24;
constexpr size_t kRecordCrcAt = 28;

template <typename T>
void Put(uint8_t* header, size_t at, T value) {
  std::memcpy(header + at, &value, sizeof(value));
}

template <typename T>
T Get(const uint8_t* header, size_t at) {
  T value;
  std::memcpy(&value, header + at, sizeof(value));
  return value;
}

// Whether the checksum at `at` is that of what stands before it.
bool IsIntact(const uint8_t* header, size_t at) {
  return Get<uint32_t>(header, at) == Crc32c(header, at);
}

}  // namespace

void EncodeSegmentHeader(const SegmentHeader& header,
                         Span<uint8_t, kSegmentHeaderBytes> bytes) {
  uint8_t* const to = bytes.data();
  std::memset(to, 0, kSegmentHeaderBytes);
  Put(to, kMagicAt, kLogMagic);
  Put(to, kVersionAt, kLogVersion);
  Put(to, kNumberAt, header.number);
  Put(to, kFirstPositionAt, header.first_position);
  Put(to, kShardIndexAt, header.shard.index);
  Put(to, kShardCountAt, header.shard.count);
  Put(to, kSegmentCrcAt, Crc32c(to, kSegmentCrcAt));
}

Result<SegmentHeader> DecodeSegmentHeader(Span<const uint8_t> bytes) {
  const uint8_t* const from = bytes.data();
  if (bytes.size() < kSegmentHeaderBytes ||
      Get<uint32_t>(from, kMagicAt) != kLogMagic ||
      !IsIntact(from, kSegmentCrcAt)) {
    return Status(Code::kDataLoss,
                  "it does not begin with a log segment's header");
  }
  const auto version = Get<uint16_t>(from, kVersionAt);
  if (version != kLogVersion) {
    return Status(
        Code::kFailedPrecondition,
        Concat("it has log format version ", version, " where version ",
               kLogVersion, " is read: use the persia_tf that wrote it"));
  }
  SegmentHeader header;
  header.number = Get<uint64_t>(from, kNumberAt);
  header.first_position = Get<uint64_t>(from, kFirstPositionAt);
  header.shard.index = Get<uint32_t>(from, kShardIndexAt);
  header.shard.count = Get<uint32_t>(from, kShardCountAt);
  return header;
}

void EncodeRecordHeader(const RecordHeader& header,
                        Span<uint8_t, kRecordHeaderBytes> bytes) {
  uint8_t* const to = bytes.data();
  Put(to, kBodyBytesAt, header.body_bytes);
  Put(to, kTypeAt, header.type);
  Put(to, kZeroAt, uint16_t{0});
  Put(to, kPositionAt, header.position);
  Put(to, kSyncedAt, header.synced);
  Put(to, kBodyCrcAt, header.body_crc);
  Put(to, kRecordCrcAt, Crc32c(to, kRecordCrcAt));
}

bool DecodeRecordHeader(Span<const uint8_t> bytes, RecordHeader* header) {
  const uint8_t* const from = bytes.data();
  if (bytes.size() < kRecordHeaderBytes || Get<uint16_t>(from, kZeroAt) != 0 ||
      Get<uint32_t>(from, kBodyBytesAt) > kMaxLogBodyBytes ||
      !IsIntact(from, kRecordCrcAt)) {
    return false;
  }
  header->body_bytes = Get<uint32_t>(from, kBodyBytesAt);
  header->type = Get<uint16_t>(from, kTypeAt);
  header->position = Get<uint64_t>(from, kPositionAt);
  header->synced = Get<uint64_t>(from, kSyncedAt);
  header->body_crc = Get<uint32_t>(from, kBodyCrcAt);
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
