// OwnedSlots: the slots that a shard owns, and their epochs. A slot's epoch
// rises by 1 whenever the slot moves, so a shard that gave a slot away and got
// it back owns it in another epoch.

#ifndef PERSIA_CC_BASE_OWNED_SLOTS_H_
#define PERSIA_CC_BASE_OWNED_SLOTS_H_

#include <cstdint>
#include <vector>

#include "cc/base/slot_set.h"

namespace persia {

struct SlotsOfEpoch {
  uint32_t epoch = 0;
  SlotSet slots;
};

struct OwnedSlots {
  // The cluster in which the epochs have a meaning; 0 for a shard of none.
  uint64_t cluster = 0;
  // At most one element per epoch. No slot is in two of them.
  std::vector<SlotsOfEpoch> epochs;
};

// All slots in epoch 1: those of a shard that belongs to no cluster.
OwnedSlots SlotsOfNoCluster();

// The slots, whatever their epochs are.
SlotSet SlotsIn(const OwnedSlots& owned);

// The slots that have the same epoch of the same cluster in both.
SlotSet CommonSlots(const OwnedSlots& a, const OwnedSlots& b);

// Those of `owned` that are in `slots`.
OwnedSlots Restricted(OwnedSlots owned, const SlotSet& slots);

}  // namespace persia

#endif  // PERSIA_CC_BASE_OWNED_SLOTS_H_
