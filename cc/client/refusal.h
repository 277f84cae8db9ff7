// Refusals: what a server says that ends a connection, and not one request.

#ifndef PERSIA_CC_CLIENT_REFUSAL_H_
#define PERSIA_CC_CLIENT_REFUSAL_H_

#include <cstdint>

#include "cc/base/status.h"
#include "cc/wire/frame.h"

namespace persia {

// Whether the next connection would be refused as well: no TLS, a certificate
// that does not do, no token, a wrong one, or another version. Requests need
// not wait for their deadlines then.
inline bool IsForGood(const Status& refusal) {
  return refusal.code() == Code::kUnauthenticated ||
         refusal.code() == Code::kPermissionDenied ||
         refusal.code() == Code::kFailedPrecondition;
}

inline Status OtherVersion(uint16_t of_server) {
  return Status(Code::kFailedPrecondition,
                Concat("this client speaks protocol version ", kProtocolVersion,
                       ", the server ", of_server,
                       ": use the same persia_tf version on both"));
}

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_REFUSAL_H_
