// PartClient: who sends a shard its part of a client's request.
//
// Several embedding workers may pass parts of one update on to the same shard.
// Were they all of one (client, sequence), the shard would take the second for
// a repeat of the first; so each address has a client id of its own.

#ifndef PERSIA_CC_CLIENT_PART_CLIENT_H_
#define PERSIA_CC_CLIENT_PART_CLIENT_H_

#include <cstdint>

#include "cc/base/hash.h"

namespace persia {

// The same whenever the request is sent again. Client 0, which asks for no
// recognition, stays 0, and no other becomes it; nothing changes for a single
// address.
inline uint64_t PartClient(uint64_t client, uint32_t address_index,
                           uint32_t address_count) {
  if (client == 0 || address_count == 1) return client;
  const uint64_t mixed = Mix64(client ^ Mix64(address_index));
  return mixed == 0 ? 1 : mixed;
}

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_PART_CLIENT_H_
