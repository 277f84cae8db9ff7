// AllFiles: local files, and files at URLs once SetUrlFiles was called.

#ifndef PERSIA_CC_FILES_ALL_FILES_H_
#define PERSIA_CC_FILES_ALL_FILES_H_

#include <memory>
#include <string>

#include "cc/files/file_system.h"

namespace persia {

// Passes each call to LocalFiles() or, for a URL, to the FileSystem last given
// to SetUrlFiles; kFailedPrecondition if there is none. Never destroyed.
FileSystem* AllFiles();

// Sets the FileSystem for URLs, which gets only URLs that CheckUrl accepts. It
// must never be destroyed. Thread-safe.
void SetUrlFiles(FileSystem* files);

// The FileSystem for paths that PathWithin has returned for this root:
// LocalFilesBelow or, if the root is "/" or a URL, AllFiles.
std::shared_ptr<FileSystem> FilesWithin(const std::string& root);

}  // namespace persia

#endif  // PERSIA_CC_FILES_ALL_FILES_H_
