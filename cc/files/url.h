// URLs: names of files that are not local, such as "s3://bucket/folder/file".

#ifndef PERSIA_CC_FILES_URL_H_
#define PERSIA_CC_FILES_URL_H_

#include <string>

#include "cc/base/status.h"

namespace persia {

// Whether a path is meant as a URL. Any other path is a local one.
bool IsUrl(const std::string& path);

// InvalidArgument unless `url` is SCHEME://AUTHORITY/NAME/... and its names
// have no special meaning to any storage library: they consist of letters,
// digits, spaces, "-_.=+,@" and non-ASCII characters, and are not empty, "." or
// "..". So no name is a pattern, a version, a quoted character or another URL.
// A URL must not contain a password; the error does not repeat one that does.
Status CheckUrl(const std::string& url);

}  // namespace persia

#endif  // PERSIA_CC_FILES_URL_H_
