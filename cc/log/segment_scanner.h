// SegmentScanner: the records of a segment's bytes, whatever these are.
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
  // and what it gives.
  SegmentScanner(Span<const uint8_t> bytes, uint64_t first_position,
                 SyncMode sync)
      : bytes_(bytes), sync_(sync), position_(first_position) {}

  // The next record, if a whole and intact one follows.
  std::optional<LogRecord> Next();

  // That of the next record, and where in the bytes it would be.
  uint64_t position() const { return position_; }
  size_t offset() const { return offset_; }
  size_t bytes_left() const { return bytes_.size() - offset_; }

  // Once Next gave nothing: whether what is left shows that a record is lost
  // that was safe, or was never written, so that no crash which the segment's
  // records survive can have torn it. It searches all that is left.
  bool HasLost() const;

  // Once Next gave nothing: how many records have their header in what is left.
  // There may have been more.
  size_t CountLeft() const;

 private:
  // Calls visit(header), until that is false, for whatever looks like a
  // record's header in what is left. What does in a body is none, but only the
  // first body is known to be one.
  template <typename Visit>
  void VisitHeadersLeft(const Visit& visit) const;
  // Whether what is left is the beginning of the next record, or nothing.
  bool IsCutOff() const;

  const Span<const uint8_t> bytes_;
  const SyncMode sync_;
  size_t offset_ = kSegmentHeaderBytes;
  uint64_t position_;
};

}  // namespace persia

#endif  // PERSIA_CC_LOG_SEGMENT_SCANNER_H_
