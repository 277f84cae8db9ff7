// Files by which a process proves who it is, with the rules that Python's
// auth.py and tls.py have: what is secret, only its owner may read.
//
// Blocks while it reads. No error shows what a file holds.

#ifndef PERSIA_CC_SERVING_CREDENTIAL_FILES_H_
#define PERSIA_CC_SERVING_CREDENTIAL_FILES_H_

#include <string>

#include "cc/base/status.h"
#include "cc/tls/tls_context.h"

namespace persia {

// The token of a file without the line's end; "" for the path "".
// kInvalidArgument, naming the file, if it is no such file or no token.
Result<std::string> ReadTokenFile(const std::string& path);

// What the files hold. All of them, or none (""): kInvalidArgument otherwise.
Result<TlsCredentials> ReadTlsFiles(const std::string& certificate,
                                    const std::string& key,
                                    const std::string& ca);

}  // namespace persia

#endif  // PERSIA_CC_SERVING_CREDENTIAL_FILES_H_
