// SegmentWriter: writes batches of encoded records to segments.
//
// Every call blocks for as long as the device takes. Not thread-safe. Unusable
// after an error.

#ifndef PERSIA_CC_LOG_SEGMENT_WRITER_H_
#define PERSIA_CC_LOG_SEGMENT_WRITER_H_

#include <cstdint>
#include <memory>

#include "cc/base/status.h"
#include "cc/log/segments.h"

namespace persia {

struct SegmentOptions {
  SyncMode sync = SyncMode::kDevice;
  // A segment of at least this size gets no further batch.
  uint64_t max_bytes = 64ull << 20;
};

class SegmentWriter {
 public:
  // Creates the first segment.
  static Result<std::unique_ptr<SegmentWriter>> Open(
      const LogPlace& place, const SegmentOptions& options, uint64_t number,
      uint64_t first_position);

  // Writes a batch whose first record has `first_position`, all of it to one
  // segment.
  Status Write(Span<const uint8_t> batch, uint64_t first_position);

  Status Close();

 private:
  SegmentWriter(const LogPlace& place, const SegmentOptions& options)
      : place_(place), options_(options) {}

  Status Begin(uint64_t number, uint64_t first_position);

  const LogPlace place_;
  const SegmentOptions options_;
  NewSegment current_;
  uint64_t bytes_ = 0;  // Of the current segment.
};

}  // namespace persia

#endif  // PERSIA_CC_LOG_SEGMENT_WRITER_H_
