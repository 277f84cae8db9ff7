// AllFiles: one FileSystem for local files and, after SetUrlFiles, for files at
// URLs.

#ifndef PERSIA_CC_FILES_ALL_FILES_H_
#define PERSIA_CC_FILES_ALL_FILES_H_

#include <memory>
#include <string>

#include "cc/files/file_system.h"

namespace persia {

// Returns a FileSystem that forwards a call for a local path to LocalFiles(),
// and a call for a URL to the FileSystem that SetUrlFiles received last. If
// SetUrlFiles was never called, a call for a URL returns kFailedPrecondition.
// The FileSystem is never destroyed.
FileSystem* AllFiles();

// Sets the FileSystem for URLs. It receives only URLs that CheckUrl accepts,
// and it must never be destroyed. Thread-safe.
void SetUrlFiles(FileSystem* files);

// Returns the FileSystem for paths that PathWithin has returned for `root`:
// AllFiles if the root is "/" or a URL, otherwise LocalFilesBelow.
std::shared_ptr<FileSystem> FilesWithin(const std::string& root);

}  // namespace persia

#endif  // PERSIA_CC_FILES_ALL_FILES_H_
