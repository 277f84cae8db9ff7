// PartClient: derives the client id under which one part of a client's request
// is sent, from the server that receives the part.
//
// Several embedding workers may forward parts of one update to the same shard.
// If the parts had the same (client, sequence), the shard would mistake the
// second part for a repeat of the first; so each worker gets a different client
// id. A shard gets the client's own one, whichever slots it owns: so the next
// owner of a slot recognizes what this one has applied.

#ifndef PERSIA_CC_CLIENT_PART_CLIENT_H_
#define PERSIA_CC_CLIENT_PART_CLIENT_H_

#include <cstdint>

#include "cc/base/hash.h"

namespace persia {

// Returns the client id for the server with this key: see ClusterView. The
// result is deterministic, so that a retried request has the same id. Client 0,
// whose requests are not deduplicated, stays 0, and no other client becomes 0.
// With key 0, the id does not change.
inline uint64_t PartClient(uint64_t client, uint64_t part_key) {
  if (client == 0 || part_key == 0) return client;
  const uint64_t mixed = Mix64(client ^ Mix64(part_key));
  return mixed == 0 ? 1 : mixed;
}

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_PART_CLIENT_H_
