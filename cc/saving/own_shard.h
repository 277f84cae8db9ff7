// OwnShard: which shard of its cluster a process is at present.

#ifndef PERSIA_CC_SAVING_OWN_SHARD_H_
#define PERSIA_CC_SAVING_OWN_SHARD_H_

#include <cstdint>
#include <functional>
#include <string>

#include "cc/base/slot_set.h"

namespace persia {

struct OwnShard {
  uint64_t member = 0;  // The shard's id: see topology/member.h.
  // The name of the shard's file in a checkpoint. No other shard of the cluster
  // has it.
  std::string file;
  SlotSet slots;  // The slots that it owns.
  // Whether it takes slots over, of which it already has rows.
  bool takes_slots = false;
  SlotSet unswept;  // Slots that it has given away, whose rows it still has.
};

// Returns what the shard is. The slots do not change while the gate is closed.
using AskOwnShard = std::function<OwnShard()>;

}  // namespace persia

#endif  // PERSIA_CC_SAVING_OWN_SHARD_H_
