// RemoteOptions: an exported model's settings for the shards that it looks rows
// up from, and how the environment of the serving process overrides them.

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
  // The cluster's name in the export: letters, digits and "_".
  std::string cluster;
  // The cluster's addresses when the model was exported.
  std::vector<std::string> addresses;
  double timeout_seconds = 0;  // For each request.
  bool zeros_for_outages = false;
  uint64_t hot_rows = 0;  // The most rows copied per table; 0: none.
  // The lifetime of a copy while no follower reports changes.
  double hot_seconds = 0;
  WireDtype wire_dtype = WireDtype::kFloat32;
};

// Returns kInvalidArgument, naming an option that is not valid and its value,
// unless all options are valid.
Status CheckRemoteOptions(const RemoteOptions& options);

// Returns equal keys for equal options, and different keys for different ones.
std::string KeyOf(const RemoteOptions& options);

// The addresses and credentials of a cluster. For cluster "ps", $PERSIA_PS
// overrides the exported addresses. For any cluster, the credentials come from
// the files that $PERSIA_AUTH_TOKEN_FILE, $PERSIA_TLS_CERTIFICATE,
// $PERSIA_TLS_KEY and $PERSIA_TLS_CA name.
struct RemoteAccess {
  std::vector<std::string> addresses;
  std::string auth_token;
  TlsCredentials tls;
};

// Reads the environment variables and the files that they name, and blocks
// while it reads. Returns kInvalidArgument if a file cannot be read.
Result<RemoteAccess> AccessOf(const RemoteOptions& options);

}  // namespace persia

#endif  // PERSIA_CC_SERVING_REMOTE_OPTIONS_H_
