// Reads the files with which a process authenticates. The rules are those of
// Python's auth.py and tls.py: a file with a secret must be accessible to its
// owner alone.
//
// Blocks while it reads. Error messages never contain what is in a file.

#ifndef PERSIA_CC_SERVING_CREDENTIAL_FILES_H_
#define PERSIA_CC_SERVING_CREDENTIAL_FILES_H_

#include <string>

#include "cc/base/status.h"
#include "cc/tls/tls_context.h"

namespace persia {

// The token in the file, without the newline at its end; "" if `path` is "".
// kInvalidArgument, with the path, if the file cannot be read, is accessible to
// others, or contains no valid token.
Result<std::string> ReadTokenFile(const std::string& path);

// The contents of the files. Either all paths are given, or all are "":
// otherwise kInvalidArgument.
Result<TlsCredentials> ReadTlsFiles(const std::string& certificate,
                                    const std::string& key,
                                    const std::string& ca);

}  // namespace persia

#endif  // PERSIA_CC_SERVING_CREDENTIAL_FILES_H_
