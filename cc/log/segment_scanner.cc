#include "cc/log/segment_scanner.h"

namespace persia {

std::optional<LogRecord> FirstRecord(Span<const uint8_t> bytes,
                                     uint64_t position, uint64_t* size) {
  RecordHeader header;
  if (!DecodeRecordHeader(bytes, &header)) return std::nullopt;
  *size = RecordBytes(header.body_bytes);
  if (header.position != position || *size > bytes.size()) return std::nullopt;
  const Span<const uint8_t> padded =
      bytes.subspan(kRecordHeaderBytes, PaddedBytes(header.body_bytes));
  if (BodyCrc({&padded, 1}) != header.body_crc) return std::nullopt;
  return LogRecord{position, header.type, padded.first(header.body_bytes)};
}

std::optional<LogRecord> SegmentScanner::Next() {
  uint64_t size = 0;
  const auto record = FirstRecord(bytes_.subspan(offset_), position_, &size);
  if (!record) return std::nullopt;
  offset_ += size;
  ++position_;
  return record;
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
