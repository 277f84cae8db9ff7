// DirectFile: a large local file that is written sequentially, without the page
// cache.
//
// The device reads the bytes from this process's buffer, so the kernel copies
// nothing and caches no pages of a file that will not be read soon. That leaves
// the CPU free for most of the time of writing. If the file system does not
// support this, the file is written as usual.

#ifndef PERSIA_CC_FILES_DIRECT_FILE_H_
#define PERSIA_CC_FILES_DIRECT_FILE_H_

#include <memory>
#include <string>

#include "cc/files/file_system.h"
#include "cc/files/place.h"

namespace persia {

// Creates an empty file, replacing an existing one.
Result<std::unique_ptr<WritableFile>> CreateDirectFile(const Place& place);

}  // namespace persia

#endif  // PERSIA_CC_FILES_DIRECT_FILE_H_
