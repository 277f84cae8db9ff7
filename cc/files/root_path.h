// PathWithin: ensures that a path received from another process stays within a
// root folder.

#ifndef PERSIA_CC_FILES_ROOT_PATH_H_
#define PERSIA_CC_FILES_ROOT_PATH_H_

#include <string>
#include <vector>

#include "cc/base/status.h"

namespace persia {

// Returns RootFolder(root), followed by "/" and the part of `name` below the
// root. `name` is relative to the root, or it is absolute and begins with a
// path that leads to the root, possibly through symbolic links.
//
// Returns InvalidArgument for a name that has "." or ".." as a part, contains
// control characters, or leads out of the root; the error reveals nothing about
// existing files. Returns kFailedPrecondition if `root` is empty. An absolute
// name makes the call read the file system. Links below the root are not
// checked here: open the path with FilesWithin, which refuses them.
//
// If the root is a URL, the result is one that CheckUrl accepts; the remote
// storage is not accessed. The root "/" contains all files and all URLs.
Result<std::string> PathWithin(const std::string& root,
                               const std::string& name);

// Returns the path of each name within `root`, as PathWithin does.
Result<std::vector<std::string>> PathsWithin(
    const std::string& root, const std::vector<std::string>& names);

// Returns the path of the folder `root` without slashes at its end, or "/".
std::string RootFolder(const std::string& root);

}  // namespace persia

#endif  // PERSIA_CC_FILES_ROOT_PATH_H_
