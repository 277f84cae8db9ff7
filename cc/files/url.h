// URLs: names of files that are not on this machine, "s3://bucket/folder/file".

#ifndef PERSIA_CC_FILES_URL_H_
#define PERSIA_CC_FILES_URL_H_

#include <string>

#include "cc/base/status.h"

namespace persia {

// Whether a path is meant as a URL. Any other is one of this machine.
bool IsUrl(const std::string& path);

// InvalidArgument unless `url` is SCHEME://AUTHORITY/NAME/..., whose names mean
// themselves to every library: of letters, digits, spaces, "-_.=+,@" and what
// is not ASCII, none of them empty, "." or "..". So no name is a pattern, a
// version, a quoted character or another URL. It must hold no password, and is
// not repeated if it does.
Status CheckUrl(const std::string& url);

}  // namespace persia

#endif  // PERSIA_CC_FILES_URL_H_
