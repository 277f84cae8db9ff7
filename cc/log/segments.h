// Functions that list, create and remove the segment files in a log's folder.
//
// All functions wait for the storage device, without a time limit, and are
// thread-safe. Their errors are those of FileSystem; kDataLoss for a file that
// has a segment's name but no segment header; and kFailedPrecondition for a
// segment of another shard or format version. Files with other names are
// ignored.

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

// The folder of a log.
struct LogPlace {
  FileSystem* files = nullptr;  // Must outlive all users of the LogPlace.
  std::string folder;
};

struct Segment {
  std::string path;
  uint64_t number = 0;
  uint64_t first_position = 0;
  SyncMode sync = SyncMode::kDevice;
};

// Returns the log's segments in order of their numbers; empty if the folder
// does not exist. Returns kInvalidArgument for a URL, because a log also needs
// Sync and Rename (see FileSystem).
Result<std::vector<Segment>> ListSegments(const LogPlace& place);

// A segment that has only a header. Its file gets the segment's name only after
// the header is durable, so no crash leaves a segment without a header.
struct NewSegment {
  Segment segment;
  std::unique_ptr<WritableFile> file;
};
Result<NewSegment> CreateSegment(const LogPlace& place, uint64_t number,
                                 uint64_t first_position, SyncMode sync);

// Removes the segments whose records are all before `position`, oldest first,
// but never the newest segment. A LogWriter may write during the call.
Status RemoveSegmentsBefore(const LogPlace& place, uint64_t position);

// Removes these segments from the log without deleting them: renames each file,
// within the folder, to a name that no segment has.
Status SetAside(const LogPlace& place, const std::vector<Segment>& segments);

}  // namespace persia

#endif  // PERSIA_CC_LOG_SEGMENTS_H_
