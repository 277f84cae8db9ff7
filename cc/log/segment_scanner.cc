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
  if (sync_ == SyncMode::kSystem) return !IsCutOff();
  RecordHeader header;
  if (DecodeRecordHeader(bytes_.subspan(offset_), &header) &&
      header.position != position_) {
    return true;
  }
  bool has_lost = false;
  VisitHeadersLeft([&](const RecordHeader& found) {
    has_lost = found.safe > position_;
    return !has_lost;
  });
  return has_lost;
}

size_t SegmentScanner::CountLeft() const {
  size_t count = 0;
  VisitHeadersLeft([&](const RecordHeader&) { return ++count > 0; });
  return count;
}

template <typename Visit>
void SegmentScanner::VisitHeadersLeft(const Visit& visit) const {
  RecordHeader header;
  size_t at = offset_;
  if (DecodeRecordHeader(bytes_.subspan(at), &header)) {
    if (!visit(header)) return;
    at += RecordBytes(header.body_bytes);
  }
  for (; at < bytes_.size(); at += kLogAlignment) {
    if (!DecodeRecordHeader(bytes_.subspan(at), &header)) continue;
    if (!visit(header)) return;
  }
}

bool SegmentScanner::IsCutOff() const {
  const Span<const uint8_t> rest = bytes_.subspan(offset_);
  if (rest.size() < kRecordHeaderBytes) return true;
  RecordHeader header;
  return DecodeRecordHeader(rest, &header) && header.position == position_ &&
         RecordBytes(header.body_bytes) > rest.size();
}

}  // namespace persia
