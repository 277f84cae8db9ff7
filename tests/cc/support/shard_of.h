// Which of several shards owns which slots, if slots are even.

#ifndef PERSIA_TESTS_CC_SUPPORT_SHARD_OF_H_
#define PERSIA_TESTS_CC_SUPPORT_SHARD_OF_H_

#include <cstdint>

#include "cc/base/slot_set.h"

namespace persia {

inline uint32_t ShardOf(int64_t id, uint32_t shard_count) {
  return SlotOf(id) * shard_count >> kSlotBits;
}

inline SlotSet SlotsOfShard(uint32_t shard, uint32_t shard_count) {
  SlotSet slots;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    slots[slot] = slot * shard_count >> kSlotBits == shard;
  }
  return slots;
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_SUPPORT_SHARD_OF_H_
