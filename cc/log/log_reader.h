// LogReader: reads a recovery log from a position to its end.
//
// Next returns each record once and in order, or an error; it never skips a
// missing record. Torn records at the log's end, which were never acknowledged,
// are ignored without an error. Reading returns kDataLoss, naming the file and
// offset, if a record is damaged or missing although the log's SyncMode
// protects it from crashes (see log_format.h); with SyncMode::kSystem, a power
// loss can be the cause. Reading also returns kDataLoss if the log ends before
// the position from which it is read.
//
// Open and Next wait for the storage device, without a time limit, and have one
// segment in memory. Not thread-safe. During the reading, no other program or
// thread may write to the log or remove segments that are still to be read.

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

// The part of a log's end that was ignored: torn records, or the records that
// `lose_from` of LogReader::Open gives up.
struct TornTail {
  std::string path;
  uint64_t offset = 0;
  uint64_t bytes = 0;  // The number of ignored bytes in the file at `path`.
  // The number of ignored records with intact headers; there may be more.
  uint64_t records = 0;
  bool is_given_up = false;
  // The segments after the file at `path`, which LogWriter::Open renames.
  std::vector<Segment> segments;
};

class LogReader {
 public:
  // Opens the log to read records from position `from` on. Returns kDataLoss if
  // the log starts after `from`. A folder without segments is a log that ends
  // at position 0. Other errors are those of ListSegments.
  //
  // If `lose_from` is not 0 and the record at position `lose_from` is damaged
  // or missing, the log is read as if it ended before that record: this record
  // and all later ones are ignored.
  static Result<std::unique_ptr<LogReader>> Open(const LogPlace& place,
                                                 uint64_t from,
                                                 uint64_t lose_from = 0);

  // Returns the next record, which is valid until the next call, or nullopt at
  // the log's end. After an error, every call returns the same error.
  Result<std::optional<LogRecord>> Next();

  // The position in the log of the record that Next returns next.
  uint64_t position() const { return position_; }

  // After the last record: what was ignored at the log's end, or nullopt.
  const std::optional<TornTail>& torn_tail() const { return torn_tail_; }

  bool is_at_end() const { return is_at_end_; }
  const LogPlace& place() const { return place_; }
  // The log's segments, without those that `lose_from` gave up.
  const std::vector<Segment>& segments() const { return segments_; }

 private:
  LogReader(const LogPlace& place, uint64_t from, uint64_t lose_from,
            std::vector<Segment> segments);

  Status Start();
  Status Load();    // Loads segments_[current_].
  Status GoOn();    // Loads the next segment, or finishes after the last one.
  Status Finish();  // Checks the end of the last segment.
  Status CheckEnd() const;
  void NoteTornTail(bool is_given_up);
  Status LoseOrFail(const std::string& why);

  const LogPlace place_;
  const uint64_t lose_from_;
  std::vector<Segment> segments_;
  uint64_t position_;
  size_t current_ = 0;  // The index in segments_ of the segment being read.
  ByteBuffer bytes_;    // The contents of the segment being read.
  std::optional<SegmentScanner> scanner_;
  Status status_;
  bool is_at_end_ = false;
  std::optional<TornTail> torn_tail_;
};

}  // namespace persia

#endif  // PERSIA_CC_LOG_LOG_READER_H_
