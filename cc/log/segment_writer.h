// SegmentWriter: puts batches of encoded records into segments.
//
// Every call blocks for as long as the device takes. Not thread-safe. After an
// error it is of no use any more.

#ifndef PERSIA_CC_LOG_SEGMENT_WRITER_H_
#define PERSIA_CC_LOG_SEGMENT_WRITER_H_

#include <cstdint>
#include <memory>

#include "cc/base/status.h"
#include "cc/log/segments.h"

namespace persia {

struct SegmentOptions {
  SyncMode sync = SyncMode::kDevice;
  // A segment that has so many bytes gets no further batch.
  uint64_t max_bytes = 64ull << 20;
};

class SegmentWriter {
 public:
  // With a first segment, which is made.
  static Result<std::unique_ptr<SegmentWriter>> Open(
      const LogPlace& place, const SegmentOptions& options, uint64_t number,
      uint64_t first_position);

  // Logs a batch whose first record is `first_position`; it is in one segment.
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
