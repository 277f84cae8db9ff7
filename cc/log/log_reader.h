// LogReader: reads a log from a position to its end.
//
// It gives each record once, in order, or an error: never a log with a hole.
// What a crash tears is no error: records at a log's end that were never
// acknowledged may be missing. kDataLoss, naming file and offset, is a record
// that is damaged or gone that is not at the end, or that a later one names as
// synced; a log of SyncMode::kSystem may be such after a loss of power.
//
// Open and Next block for as long as the device takes, and hold one segment in
// memory. Not thread-safe. Nobody may write to the log, or remove segments that
// are yet to be read, meanwhile.

#ifndef PERSIA_CC_LOG_LOG_READER_H_
#define PERSIA_CC_LOG_LOG_READER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cc/base/byte_buffer.h"
#include "cc/base/status.h"
#include "cc/log/segment_scanner.h"
#include "cc/log/segments.h"

namespace persia {

// What a crash left of records at a log's end.
struct TornTail {
  std::string path;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

class LogReader {
 public:
  // Reads records from position `from` on. A folder without segments has none.
  // kDataLoss if the log begins after `from`. Other errors: those of
  // ListSegments.
  static Result<std::unique_ptr<LogReader>> Open(const LogPlace& place,
                                                 uint64_t from);

  // The next record, valid until the next call; nothing at the end. After an
  // error, the same error.
  Result<std::optional<LogRecord>> Next();

  // That of the next record. A log may end before `from`, which is then it: the
  // caller has from elsewhere what the log lacks.
  uint64_t position() const { return position_; }

  // At the end: what was left out there, if anything.
  const std::optional<TornTail>& torn_tail() const { return torn_tail_; }

  bool is_at_end() const { return is_at_end_; }
  const LogPlace& place() const { return place_; }
  const std::vector<Segment>& segments() const { return segments_; }

 private:
  LogReader(const LogPlace& place, uint64_t from,
            std::vector<Segment> segments);

  Status Start();
  Status Load();    // segments_[current_].
  Status GoOn();    // To the next segment, or to the end.
  Status Finish();  // The last segment.
  Status Lost(const std::string& why) const;

  const LogPlace place_;
  const std::vector<Segment> segments_;
  uint64_t position_;
  size_t current_ = 0;  // In segments_.
  ByteBuffer bytes_;    // Of that segment.
  std::optional<SegmentScanner> scanner_;
  Status status_;
  bool is_at_end_ = false;
  std::optional<TornTail> torn_tail_;
};

}  // namespace persia

#endif  // PERSIA_CC_LOG_LOG_READER_H_
