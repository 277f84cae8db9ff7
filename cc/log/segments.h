// The segment files of a log, in its folder.
//
// Everything here blocks for as long as the device takes, and is thread-safe.
// Errors are those of FileSystem; kDataLoss for a file that has a segment's
// name but not its header; kFailedPrecondition for a segment of another shard
// or format version. Files with other names are ignored.

#ifndef PERSIA_CC_LOG_SEGMENTS_H_
#define PERSIA_CC_LOG_SEGMENTS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/status.h"
#include "cc/files/file_system.h"
#include "cc/log/log_format.h"

namespace persia {

// The place of a log.
struct LogPlace {
  FileSystem* files = nullptr;  // Must outlive its users.
  std::string folder;
  LogShard shard;
};

struct Segment {
  std::string path;
  uint64_t number = 0;
  uint64_t first_position = 0;
  SyncMode sync = SyncMode::kDevice;
};

// In order of number; empty if the folder does not exist. kInvalidArgument for
// a URL, where only whole files can be stored.
Result<std::vector<Segment>> ListSegments(const LogPlace& place);

// A segment that has only a header. It gets its name, durably, only after its
// header is durable: so no crash leaves a segment without a header.
struct NewSegment {
  Segment segment;
  std::unique_ptr<WritableFile> file;
};
Result<NewSegment> CreateSegment(const LogPlace& place, uint64_t number,
                                 uint64_t first_position, SyncMode sync);

// Removes segments whose records are all before `position`, oldest first; never
// the newest segment. A LogWriter may write meanwhile.
Status RemoveSegmentsBefore(const LogPlace& place, uint64_t position);

// Takes these segments out of the log: renames them, within the folder, to
// names that are not a segment's.
Status SetAside(const LogPlace& place, const std::vector<Segment>& segments);

}  // namespace persia

#endif  // PERSIA_CC_LOG_SEGMENTS_H_
