// LogReader: reads a log from a position to its end.
//
// It gives each record once, in order, or an error: never a log with a hole.
// What a crash tears is no error: records at a log's end that were never
// acknowledged may be missing. kDataLoss, naming file and offset, is a record
// that is damaged or gone, which no crash tears that the log's records survive
// (see log_format.h); a log of SyncMode::kSystem may be such after a loss of
// power. A log that ends before the position that it is read from is such, too.
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

// What was left out at a log's end: what a crash left of records, or what
// `lose_from` gives up.
struct TornTail {
  std::string path;
  uint64_t offset = 0;
  uint64_t bytes = 0;    // Of that file.
  uint64_t records = 0;  // That have their headers there; there may be more.
  bool is_given_up = false;
  // Those after it, which LogWriter::Open sets aside.
  std::vector<Segment> segments;
};

class LogReader {
 public:
  // Reads records from position `from` on. kDataLoss if the log begins after
  // `from`; a folder without segments has a log that ends at 0. Other errors:
  // those of ListSegments. Where the record at `lose_from` is damaged or gone,
  // the log ends with the one before it, and what follows is given up; 0:
  // nothing is.
  static Result<std::unique_ptr<LogReader>> Open(const LogPlace& place,
                                                 uint64_t from,
                                                 uint64_t lose_from = 0);

  // The next record, valid until the next call; nothing at the end. After an
  // error, the same error.
  Result<std::optional<LogRecord>> Next();

  // That of the next record.
  uint64_t position() const { return position_; }

  // At the end: what was left out there, if anything.
  const std::optional<TornTail>& torn_tail() const { return torn_tail_; }

  bool is_at_end() const { return is_at_end_; }
  const LogPlace& place() const { return place_; }
  // But for those that were given up.
  const std::vector<Segment>& segments() const { return segments_; }

 private:
  LogReader(const LogPlace& place, uint64_t from, uint64_t lose_from,
            std::vector<Segment> segments);

  Status Start();
  Status Load();    // segments_[current_].
  Status GoOn();    // To the next segment, or to the end.
  Status Finish();  // This segment is the last.
  Status CheckEnd() const;
  void NoteTornTail(bool is_given_up);
  Status LoseOrFail(const std::string& why);

  const LogPlace place_;
  const uint64_t lose_from_;
  std::vector<Segment> segments_;
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
