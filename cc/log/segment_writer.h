// SegmentWriter: writes batches of encoded records to segment files.
//
// Every call waits for the storage device, without a time limit. Not
// thread-safe. After an error, the writer must not be used further.

#ifndef PERSIA_CC_LOG_SEGMENT_WRITER_H_
#define PERSIA_CC_LOG_SEGMENT_WRITER_H_

#include <cstdint>
#include <memory>

#include "cc/base/status.h"
#include "cc/log/segments.h"

namespace persia {

struct SegmentOptions {
  SyncMode sync = SyncMode::kDevice;
  // Once a segment has at least this size, the next batch starts a new segment.
  uint64_t max_bytes = 64ull << 20;
};

class SegmentWriter {
 public:
  // Creates the first segment, with the given number and first position.
  static Result<std::unique_ptr<SegmentWriter>> Open(
      const LogPlace& place, const SegmentOptions& options, uint64_t number,
      uint64_t first_position);

  // Writes a whole batch, whose first record has `first_position`, to one
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
  uint64_t bytes_ = 0;  // The size of the current segment.
};

}  // namespace persia

#endif  // PERSIA_CC_LOG_SEGMENT_WRITER_H_
