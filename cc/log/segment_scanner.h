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
  SegmentScanner(Span<const uint8_t> bytes, uint64_t first_position)
      : bytes_(bytes), position_(first_position) {}

  // The next record, if a whole and intact one follows.
  std::optional<LogRecord> Next();

  // That of the next record, and where in the bytes it would be.
  uint64_t position() const { return position_; }
  size_t offset() const { return offset_; }
  size_t bytes_left() const { return bytes_.size() - offset_; }

  // Once Next gave nothing: whether what is left shows that a record is lost
  // that had reached the device, or was never written, so that no crash can
  // have torn it. It searches all that is left.
  bool HasLost() const;

 private:
  const Span<const uint8_t> bytes_;
  size_t offset_ = kSegmentHeaderBytes;
  uint64_t position_;
};

}  // namespace persia

#endif  // PERSIA_CC_LOG_SEGMENT_SCANNER_H_
