// LogTail: reads the records of a log while a LogWriter appends to it, for
// another process that replays them.
//
// Not thread-safe. Read waits for the storage device, without a time limit.

#ifndef PERSIA_CC_LOG_LOG_TAIL_H_
#define PERSIA_CC_LOG_LOG_TAIL_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/base/status.h"
#include "cc/files/file_system.h"
#include "cc/log/segments.h"

namespace persia {

class LogTail {
 public:
  // Reads from the record at `position` on.
  LogTail(const LogPlace& place, uint64_t position)
      : place_(place), position_(position) {}

  // The position of the next record.
  uint64_t position() const { return position_; }

  // Appends to `records` the next records, as they are in the log, until these
  // are `most_bytes` or more. Records from `durable` on, which the writer may
  // be writing, are left out. Returns kNotFound if the log no longer has the
  // next record, and kDataLoss if it is damaged.
  Status Read(uint64_t durable, size_t most_bytes,
              std::vector<uint8_t>* records);

 private:
  // Opens the newest segment that may have the next record.
  Status OpenSegment();
  // Reads more of the segment. Returns whether there was more.
  Result<bool> Fill();
  Status ReadOne(std::vector<uint8_t>* records);
  Status Damaged(uint64_t position) const;

  const LogPlace place_;
  uint64_t position_;
  std::unique_ptr<ReadableFile> file_;  // Null: no segment is open.
  uint64_t segment_ = 0;                // Its number.
  uint64_t ended_segment_ = 0;    // One that had ended before the next record.
  uint64_t next_in_segment_ = 0;  // The next record's position there.
  uint64_t segment_end_ = 0;      // The first record of the segment after it.
  std::vector<uint8_t> bytes_;
  size_t offset_ = 0;  // In bytes_, of the segment's next record.
};

}  // namespace persia

#endif  // PERSIA_CC_LOG_LOG_TAIL_H_
