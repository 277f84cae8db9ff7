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
  std::string cluster;  // Its name in the export: letters, digits, "_".
  std::vector<std::string> addresses;  // Addresses when exported.
  // The number of shards over which rows are distributed: it cannot change
  // without moving rows. 0: the addresses are embedding workers, of which there
  // may be any number.
  int placed_over = 0;
  double timeout_seconds = 0;  // Per request.
  bool zeros_for_outages = false;
  uint64_t hot_rows = 0;   // Copies per table; 0: none.
  double hot_seconds = 0;  // Lifetime of copies that are not followed.
  WireDtype wire_dtype = WireDtype::kFloat32;
};

// kInvalidArgument, with the option and its value, unless all options are
// valid.
Status CheckRemoteOptions(const RemoteOptions& options);

// The same key for equal options, and different keys for others.
std::string KeyOf(const RemoteOptions& options);

// What the environment may set: for cluster "ps", the addresses in $PERSIA_PS;
// for any cluster, $PERSIA_AUTH_TOKEN_FILE, $PERSIA_TLS_CERTIFICATE,
// $PERSIA_TLS_KEY and $PERSIA_TLS_CA.
struct RemoteAccess {
  std::vector<std::string> addresses;
  std::string auth_token;
  TlsCredentials tls;
};

// Reads the environment and the files that it names, and blocks while it does.
// kInvalidArgument for a file that cannot be read, or for a number of addresses
// other than placed_over.
Result<RemoteAccess> AccessOf(const RemoteOptions& options);

}  // namespace persia

#endif  // PERSIA_CC_SERVING_REMOTE_OPTIONS_H_
