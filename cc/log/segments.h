// The segment files of a log, in its folder.
//
// Everything here blocks for as long as the device takes, and is thread-safe.
// Errors are those of FileSystem, with kDataLoss for a file that has a
// segment's name and not its header, and kFailedPrecondition for a segment of
// another shard or format version. Files with other names are none of the
// log's.

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

// Where a log is.
struct LogPlace {
  FileSystem* files = nullptr;  // Must outlive what uses it.
  std::string folder;
  LogShard shard;
};

struct Segment {
  std::string path;
  uint64_t number = 0;
  uint64_t first_position = 0;
  SyncMode sync = SyncMode::kDevice;
};

// In order. None, if there is no such folder; kInvalidArgument for a URL: no
// more than whole files can be kept there.
Result<std::vector<Segment>> ListSegments(const LogPlace& place);

// A segment that holds a header alone. It has its name only once its header,
// and the name itself, survive a loss of power: so no crash leaves a segment
// without one.
struct NewSegment {
  Segment segment;
  std::unique_ptr<WritableFile> file;
};
Result<NewSegment> CreateSegment(const LogPlace& place, uint64_t number,
                                 uint64_t first_position, SyncMode sync);

// Removes segments all of whose records are before `position`, oldest first;
// never the newest segment. A LogWriter may go on meanwhile.
Status RemoveSegmentsBefore(const LogPlace& place, uint64_t position);

// Takes these segments out of the log, and leaves them in its folder by names
// that are none of its.
Status SetAside(const LogPlace& place, const std::vector<Segment>& segments);

}  // namespace persia

#endif  // PERSIA_CC_LOG_SEGMENTS_H_
