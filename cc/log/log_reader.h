// LogReader: reads a log from a position to its end.
//
// It returns each record once, in order, or an error: never a log with a gap. A
// torn end is not an error: records at the log's end that were never
// acknowledged may be missing. kDataLoss, naming the file and offset, means
// that a record is damaged or missing in a way that no crash which the log's
// records survive can cause (see log_format.h); in a log of SyncMode::kSystem a
// power loss can cause it. A log that ends before the position to read from is
// kDataLoss, too.
//
// Open and Next block for as long as the device takes, and hold one segment in
// memory. Not thread-safe. Meanwhile nothing may write to the log or remove
// segments that are still to be read.

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

// What was ignored at a log's end: torn records, or what `lose_from` gives up.
struct TornTail {
  std::string path;
  uint64_t offset = 0;
  uint64_t bytes = 0;    // Ignored in that file.
  uint64_t records = 0;  // Those with intact headers; there may be more.
  bool is_given_up = false;
  // The segments after that file, which LogWriter::Open sets aside.
  std::vector<Segment> segments;
};

class LogReader {
 public:
  // Reads records from position `from` on. kDataLoss if the log begins after
  // `from`; a folder without segments is a log that ends at 0. Other errors are
  // those of ListSegments. If the record at `lose_from` is damaged or missing,
  // the log ends before it, and all later records are given up; 0: give up
  // nothing.
  static Result<std::unique_ptr<LogReader>> Open(const LogPlace& place,
                                                 uint64_t from,
                                                 uint64_t lose_from = 0);

  // The next record, valid until the next call; nothing at the end. After an
  // error, returns the same error again.
  Result<std::optional<LogRecord>> Next();

  // The position of the next record.
  uint64_t position() const { return position_; }

  // At the end: what was ignored there, if anything.
  const std::optional<TornTail>& torn_tail() const { return torn_tail_; }

  bool is_at_end() const { return is_at_end_; }
  const LogPlace& place() const { return place_; }
  // The log's segments, without those that were given up.
  const std::vector<Segment>& segments() const { return segments_; }

 private:
  LogReader(const LogPlace& place, uint64_t from, uint64_t lose_from,
            std::vector<Segment> segments);

  Status Start();
  Status Load();    // Loads segments_[current_].
  Status GoOn();    // To the next segment, or to the end.
  Status Finish();  // After the last segment.
  Status CheckEnd() const;
  void NoteTornTail(bool is_given_up);
  Status LoseOrFail(const std::string& why);

  const LogPlace place_;
  const uint64_t lose_from_;
  std::vector<Segment> segments_;
  uint64_t position_;
  size_t current_ = 0;  // In segments_.
  ByteBuffer bytes_;    // Of the current segment.
  std::optional<SegmentScanner> scanner_;
  Status status_;
  bool is_at_end_ = false;
  std::optional<TornTail> torn_tail_;
};

}  // namespace persia

#endif  // PERSIA_CC_LOG_LOG_READER_H_
