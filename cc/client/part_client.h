// PartClient: derives the client id under which one part of a client's request
// is sent, from the address that receives the part.
//
// Several embedding workers may forward parts of one update to the same shard.
// If the parts had the same (client, sequence), the shard would mistake the
// second part for a repeat of the first; so each address gets a different
// client id.

#ifndef PERSIA_CC_CLIENT_PART_CLIENT_H_
#define PERSIA_CC_CLIENT_PART_CLIENT_H_

#include <cstdint>

#include "cc/base/hash.h"

namespace persia {

// Returns the client id for one address. The result is deterministic, so that a
// retried request has the same id. Client 0, whose requests are not
// deduplicated, stays 0, and no other client becomes 0. With a single address,
// the id does not change.
inline uint64_t PartClient(uint64_t client, uint32_t address_index,
                           uint32_t address_count) {
  if (client == 0 || address_count == 1) return client;
  const uint64_t mixed = Mix64(client ^ Mix64(address_index));
  return mixed == 0 ? 1 : mixed;
}

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_PART_CLIENT_H_
