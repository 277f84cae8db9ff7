// SegmentScanner: finds the records in a segment's bytes, even if these are
// damaged.
//
// Not thread-safe. Nothing blocks.

#ifndef PERSIA_CC_LOG_SEGMENT_SCANNER_H_
#define PERSIA_CC_LOG_SEGMENT_SCANNER_H_

#include <cstddef>
#include <cstdint>
#include <optional>

#include "cc/base/span.h"
#include "cc/log/log_format.h"

namespace persia {

struct LogRecord {
  uint64_t position = 0;
  uint16_t type = 0;
  Span<const uint8_t> body;  // Starts at a multiple of 8 bytes.
};

class SegmentScanner {
 public:
  // `bytes` are a whole segment, header included, and must outlive the scanner
  // and the records that it returns.
  SegmentScanner(Span<const uint8_t> bytes, uint64_t first_position,
                 SyncMode sync)
      : bytes_(bytes), sync_(sync), position_(first_position) {}

  // The next record, if an intact one follows.
  std::optional<LogRecord> Next();

  // The position of the next record, and its offset in the bytes.
  uint64_t position() const { return position_; }
  size_t offset() const { return offset_; }
  size_t bytes_left() const { return bytes_.size() - offset_; }

  // Once Next has returned nothing: whether the remaining bytes show that a
  // safe record is lost, or cannot have been written there, so that no crash
  // which the segment's records survive can be the cause. Searches all
  // remaining bytes.
  bool HasLost() const;

  // Once Next has returned nothing: how many records have an intact header in
  // the remaining bytes. There may have been more.
  size_t CountLeft() const;

 private:
  // Calls visit(header), until it returns false, for everything in the
  // remaining bytes that looks like a record's header. A body may contain bytes
  // that do; only the first record's body is known to be one, and skipped.
  template <typename Visit>
  void VisitHeadersLeft(const Visit& visit) const;
  // Whether the remaining bytes are the beginning of the next record, or none.
  bool IsCutOff() const;

  const Span<const uint8_t> bytes_;
  const SyncMode sync_;
  size_t offset_ = kSegmentHeaderBytes;
  uint64_t position_;
};

}  // namespace persia

#endif  // PERSIA_CC_LOG_SEGMENT_SCANNER_H_
