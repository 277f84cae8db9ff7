// AllFiles: local files, and those at URLs once somebody can reach them.

#ifndef PERSIA_CC_FILES_ALL_FILES_H_
#define PERSIA_CC_FILES_ALL_FILES_H_

#include <memory>
#include <string>

#include "cc/files/file_system.h"

namespace persia {

// Hands each call to LocalFiles(), or, for a path that is a URL, to what was
// last given to SetUrlFiles: kFailedPrecondition before. Lives for ever.
FileSystem* AllFiles();

// `files`, which must live for ever, gets URLs that CheckUrl accepts.
// Thread-safe.
void SetUrlFiles(FileSystem* files);

// The files within the root of PathWithin, by paths that it gave: those of
// LocalFilesBelow, or, of "/" or a URL, those of AllFiles.
std::shared_ptr<FileSystem> FilesWithin(const std::string& root);

}  // namespace persia

#endif  // PERSIA_CC_FILES_ALL_FILES_H_
