// Where a name that came from elsewhere may lead.

#ifndef PERSIA_CC_FILES_ROOT_PATH_H_
#define PERSIA_CC_FILES_ROOT_PATH_H_

#include <string>
#include <vector>

#include "cc/base/status.h"

namespace persia {

// The path of `name` within the folder `root`: RootFolder(root), "/" and what
// `name` says, which is relative to the root; or absolute, and leads to the
// root first, maybe by another way. InvalidArgument, which tells nothing of
// what there is on this machine, for a name with "." or "..", with characters
// that are no text, or that leads elsewhere. Whether there are links below the
// root is not looked at: use the path with FilesWithin, which follows none.
// Looks at the file system for an absolute name. kFailedPrecondition if `root`
// is empty.
//
// Where the root is a URL, the result is one that CheckUrl accepts; nothing is
// looked at, since there are no links. Within "/" are all files and all URLs.
Result<std::string> PathWithin(const std::string& root,
                               const std::string& name);

// That of each name.
Result<std::vector<std::string>> PathsWithin(
    const std::string& root, const std::vector<std::string>& names);

// The path of a folder, without a "/" at its end unless it is "/".
std::string RootFolder(const std::string& root);

}  // namespace persia

#endif  // PERSIA_CC_FILES_ROOT_PATH_H_
