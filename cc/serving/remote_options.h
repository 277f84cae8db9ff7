// RemoteOptions: what an exported model says about the shards that it asks, and
// what the environment of the process that serves it says instead.

#ifndef PERSIA_CC_SERVING_REMOTE_OPTIONS_H_
#define PERSIA_CC_SERVING_REMOTE_OPTIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/status.h"
#include "cc/tls/tls_context.h"
#include "cc/wire/wire_dtype.h"

namespace persia {

struct RemoteOptions {
  std::string cluster;  // The export's name for it: a letter, digits and "_".
  std::vector<std::string> addresses;  // Those that it was exported with.
  // Over how many addresses rows are spread, so that no other number will do;
  // 0: over none of these, since they are embedding workers.
  int placed_over = 0;
  double timeout_seconds = 0;  // Of each request.
  bool zeros_for_outages = false;
  uint64_t hot_rows = 0;   // Of each table; 0: no copies.
  double hot_seconds = 0;  // That a copy answers, unless changes are followed.
  WireDtype wire_dtype = WireDtype::kFloat32;
};

// kInvalidArgument, naming the option and what it is, unless all can be.
Status CheckRemoteOptions(const RemoteOptions& options);

// Equal for equal options, and for no others.
std::string KeyOf(const RemoteOptions& options);

// What a deployment may set: of cluster "ps", $PERSIA_PS for its addresses; and
// for any, $PERSIA_AUTH_TOKEN_FILE, $PERSIA_TLS_CERTIFICATE, $PERSIA_TLS_KEY
// and $PERSIA_TLS_CA.
struct RemoteAccess {
  std::vector<std::string> addresses;
  std::string auth_token;
  TlsCredentials tls;
};

// Reads the environment and the files that it names; blocks for these.
// kInvalidArgument for a file that cannot be read, or for more or fewer
// addresses than rows are placed over.
Result<RemoteAccess> AccessOf(const RemoteOptions& options);

}  // namespace persia

#endif  // PERSIA_CC_SERVING_REMOTE_OPTIONS_H_
