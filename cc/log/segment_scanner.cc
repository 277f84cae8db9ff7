#include "cc/log/segment_scanner.h"

namespace persia {

std::optional<LogRecord> SegmentScanner::Next() {
  const Span<const uint8_t> rest = bytes_.subspan(offset_);
  RecordHeader header;
  if (!DecodeRecordHeader(rest, &header)) return std::nullopt;
  const uint64_t size = RecordBytes(header.body_bytes);
  if (header.position != position_ || size > rest.size()) return std::nullopt;
  const Span<const uint8_t> padded =
      rest.subspan(kRecordHeaderBytes, PaddedBytes(header.body_bytes));
  if (BodyCrc({&padded, 1}) != header.body_crc) return std::nullopt;
  offset_ += size;
  ++position_;
  return LogRecord{header.position, header.type,
                   padded.first(header.body_bytes)};
}

bool SegmentScanner::HasLost() const {
  RecordHeader header;
  if (DecodeRecordHeader(bytes_.subspan(offset_), &header) &&
      header.position != position_) {
    return true;
  }
  for (size_t at = offset_; at < bytes_.size(); at += kLogAlignment) {
    if (DecodeRecordHeader(bytes_.subspan(at), &header) &&
        header.synced > position_) {
      return true;
    }
  }
  return false;
}

}  // namespace persia
