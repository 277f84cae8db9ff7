// Where a name that came from elsewhere may lead.

#ifndef PERSIA_CC_FILES_ROOT_PATH_H_
#define PERSIA_CC_FILES_ROOT_PATH_H_

#include <string>
#include <vector>

#include "cc/base/status.h"

namespace persia {

// The path of `name` within the folder `root`: relative to it, or absolute and
// under it. InvalidArgument, which tells nothing of what there is on this
// machine, for a name with "." or "..", with characters that are no text, or
// that a symbolic link leads out of the root. Looks at the file system.
//
// Where the root is a URL, the result is one that CheckUrl accepts; nothing is
// looked at, since there are no links. Within "/" are all files and all URLs.
Result<std::string> PathWithin(const std::string& root,
                               const std::string& name);

// That of each name.
Result<std::vector<std::string>> PathsWithin(
    const std::string& root, const std::vector<std::string>& names);

}  // namespace persia

#endif  // PERSIA_CC_FILES_ROOT_PATH_H_
