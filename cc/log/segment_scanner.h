// SegmentScanner: finds the records in a segment's bytes, which may be damaged.
//
// Not thread-safe. No call blocks.

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
  Span<const uint8_t> body;  // The body starts at a multiple of 8 bytes.
};

// Returns the record at the start of `bytes`, which begin at a multiple of 8,
// and sets `*size` to the bytes that it takes; nullopt unless it is intact and
// has this position. No call blocks.
std::optional<LogRecord> FirstRecord(Span<const uint8_t> bytes,
                                     uint64_t position, uint64_t* size);

class SegmentScanner {
 public:
  // `bytes` are a whole segment, including its header, and must outlive the
  // scanner and the records that it returns.
  SegmentScanner(Span<const uint8_t> bytes, uint64_t first_position,
                 SyncMode sync)
      : bytes_(bytes), sync_(sync), position_(first_position) {}

  // Returns the next record, or nullopt if no intact record follows.
  std::optional<LogRecord> Next();

  // The position in the log of the next record, and its offset in the segment.
  uint64_t position() const { return position_; }
  size_t offset() const { return offset_; }
  size_t bytes_left() const { return bytes_.size() - offset_; }

  // Call this after Next has returned nullopt. Searches all remaining bytes,
  // and returns whether they show damage, which no crash that the segment's
  // SyncMode covers can cause: a durable record is lost, or a writer cannot
  // have written these bytes there.
  bool HasLost() const;

  // Call this after Next has returned nullopt. Returns how many records have an
  // intact header in the remaining bytes; there may have been more records.
  size_t CountLeft() const;

 private:
  // Calls visit(header) for everything in the remaining bytes that looks like a
  // record header, until visit returns false. A record's body may contain bytes
  // that look like a header. Only the first record's body can be skipped,
  // because only its extent is known.
  template <typename Visit>
  void VisitHeadersLeft(const Visit& visit) const;
  // Whether the remaining bytes are empty or an incomplete record.
  bool IsCutOff() const;

  const Span<const uint8_t> bytes_;
  const SyncMode sync_;
  size_t offset_ = kSegmentHeaderBytes;
  uint64_t position_;
};

}  // namespace persia

#endif  // PERSIA_CC_LOG_SEGMENT_SCANNER_H_
