// DirectFile: a large local file that is written from its begin to its end past
// the page cache.
//
// The device takes the bytes from here, so the kernel copies nothing, and keeps
// no pages of a file that nobody is about to read. That leaves most of the time
// of writing to others. Where the file system does not do so, it is written
// as any file.

#ifndef PERSIA_CC_FILES_DIRECT_FILE_H_
#define PERSIA_CC_FILES_DIRECT_FILE_H_

#include <memory>
#include <string>

#include "cc/files/file_system.h"
#include "cc/files/place.h"

namespace persia {

// An empty file; one that was there is replaced.
Result<std::unique_ptr<WritableFile>> CreateDirectFile(const Place& place);

}  // namespace persia

#endif  // PERSIA_CC_FILES_DIRECT_FILE_H_
