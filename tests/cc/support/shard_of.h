// ShardOf: which of several shards owns an id's slot, if slots are even.

#ifndef PERSIA_TESTS_CC_SUPPORT_SHARD_OF_H_
#define PERSIA_TESTS_CC_SUPPORT_SHARD_OF_H_

#include <cstdint>

#include "cc/base/slots.h"

namespace persia {

inline uint32_t ShardOf(int64_t id, uint32_t shard_count) {
  return SlotOf(id) * shard_count >> kSlotBits;
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SUPPORT_SHARD_OF_H_
