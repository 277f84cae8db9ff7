// IsUrl and CheckUrl: URLs name files that are not local, such as
// "s3://bucket/folder/file".

#ifndef PERSIA_CC_FILES_URL_H_
#define PERSIA_CC_FILES_URL_H_

#include <string>

#include "cc/base/status.h"

namespace persia {

// Returns whether `path` is meant as a URL; any other path is local.
bool IsUrl(const std::string& path);

// Returns InvalidArgument unless `url` is SCHEME://AUTHORITY or
// SCHEME://AUTHORITY/NAME/... A name may have letters, digits, spaces,
// "-_.=+,@" and non-ASCII characters; it must not be empty, "." or "..".
// Characters to which some storage library gives a meaning are refused, such as
// "*" (wildcard), "?" (query, version) and "%" (escape). A URL with a password
// is refused too; the error message does not repeat it.
Status CheckUrl(const std::string& url);

}  // namespace persia

#endif  // PERSIA_CC_FILES_URL_H_
