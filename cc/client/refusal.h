// Refusals: errors that end a connection rather than one request.

#ifndef PERSIA_CC_CLIENT_REFUSAL_H_
#define PERSIA_CC_CLIENT_REFUSAL_H_

#include <cstdint>

#include "cc/base/status.h"
#include "cc/wire/frame.h"

namespace persia {

// Whether the refusal is permanent, so that the next connection would be
// refused as well: TLS is missing, the certificate is not accepted, the token
// is missing or wrong, or the protocol versions differ. Requests then fail at
// once instead of at their deadlines.
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
