// Confines the paths that other processes name to a root folder.

#ifndef PERSIA_CC_FILES_ROOT_PATH_H_
#define PERSIA_CC_FILES_ROOT_PATH_H_

#include <string>
#include <vector>

#include "cc/base/status.h"

namespace persia {

// The path of `name` within the folder `root`: RootFolder(root), "/" and the
// rest of `name`, which is relative to the root, or absolute and starts with a
// path of the root, perhaps through links. InvalidArgument, which reveals
// nothing of what exists on this machine, for a name with "." or "..", with
// control characters, or that leads out of the root. Links below the root are
// not checked: use the path with FilesWithin, which follows none. Reads the
// file system for an absolute name. kFailedPrecondition if `root` is empty.
//
// If the root is a URL, the result is one that CheckUrl accepts; the storage is
// not read, since it has no links. The root "/" contains all files and all
// URLs.
Result<std::string> PathWithin(const std::string& root,
                               const std::string& name);

// The path of each name.
Result<std::vector<std::string>> PathsWithin(
    const std::string& root, const std::vector<std::string>& names);

// The path of a folder, without a "/" at its end unless it is "/".
std::string RootFolder(const std::string& root);

}  // namespace persia

#endif  // PERSIA_CC_FILES_ROOT_PATH_H_
