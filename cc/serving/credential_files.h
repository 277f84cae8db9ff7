// Functions that read the files with which a process authenticates: its token
// and its TLS credentials. The rules are those of Python's auth.py and tls.py:
// a file that contains a secret must be accessible to its owner alone; if root
// owns it, its group may read it too.
//
// The functions block while they read. Their error messages never contain the
// contents of a file.

#ifndef PERSIA_CC_SERVING_CREDENTIAL_FILES_H_
#define PERSIA_CC_SERVING_CREDENTIAL_FILES_H_

#include <string>

#include "cc/base/status.h"
#include "cc/tls/tls_context.h"

namespace persia {

// Returns the token in the file `path`, without the newline at its end, or ""
// if `path` is "". Returns kInvalidArgument, with the path in the message, if
// the file cannot be read, is accessible to other users than the rule above
// allows, or contains no valid token.
Result<std::string> ReadTokenFile(const std::string& path);

// Returns the contents of the three files, or empty credentials if all three
// paths are "". Returns kInvalidArgument if only some paths are "", or if a
// file cannot be read.
Result<TlsCredentials> ReadTlsFiles(const std::string& certificate,
                                    const std::string& key,
                                    const std::string& ca);

}  // namespace persia

#endif  // PERSIA_CC_SERVING_CREDENTIAL_FILES_H_
