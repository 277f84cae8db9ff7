// DirectFile: writes a large local file sequentially, bypassing the kernel's
// page cache.
//
// The device reads the bytes from this process's buffer. The kernel therefore
// copies nothing, and does not fill its cache with a file that will not be read
// soon, so the CPU is free for most of the writing time. On a file system that
// does not support this, the file is written through the page cache.

#ifndef PERSIA_CC_FILES_DIRECT_FILE_H_
#define PERSIA_CC_FILES_DIRECT_FILE_H_

#include <memory>
#include <string>

#include "cc/files/file_system.h"
#include "cc/files/place.h"

namespace persia {

// Creates an empty file, which replaces an existing file at the same path.
Result<std::unique_ptr<WritableFile>> CreateDirectFile(const Place& place);

}  // namespace persia

#endif  // PERSIA_CC_FILES_DIRECT_FILE_H_
