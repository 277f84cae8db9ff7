// PreparedSlots: slots whose rows this shard has, although it does not own
// them, or not yet: it takes them over.
//
// Not thread-safe: callers hold a lock.

#ifndef PERSIA_CC_SHARD_PREPARED_SLOTS_H_
#define PERSIA_CC_SHARD_PREPARED_SLOTS_H_

#include <algorithm>
#include <utility>
#include <vector>

#include "cc/service/hand_over_request.h"

namespace persia {

class PreparedSlots {
 public:
  // The shard begins to take these slots over, from nothing.
  void Begin(const SlotSet& slots) {
    Drop(slots);
    arriving_ |= slots;
  }

  // All rows of these slots are there; `applied` was applied to them.
  void Prepare(SlotsApplied applied) {
    Remove(applied.slots);
    arriving_ |= applied.slots;
    prepared_.push_back(std::move(applied));
  }

  // Call it when the shard has become the owner of these slots. Returns what
  // was applied to those of them that were prepared.
  std::vector<SlotsApplied> Arrive(const SlotSet& slots) {
    std::vector<SlotsApplied> arrived;
    for (const SlotsApplied& each : prepared_) {
      const SlotSet both = each.slots & slots;
      if (both.any()) arrived.push_back({both, each.clients});
    }
    Drop(slots);
    return arrived;
  }

  // The shard gives up taking these slots over.
  void Drop(const SlotSet& slots) {
    arriving_ &= ~slots;
    Remove(slots);
  }

  // The slots of which the shard has rows, or will.
  const SlotSet& arriving() const { return arriving_; }
  const std::vector<SlotsApplied>& prepared() const { return prepared_; }

 private:
  void Remove(const SlotSet& slots) {
    for (SlotsApplied& each : prepared_) each.slots &= ~slots;
    const auto is_empty = [](const SlotsApplied& each) {
      return each.slots.none();
    };
    prepared_.erase(
        std::remove_if(prepared_.begin(), prepared_.end(), is_empty),
        prepared_.end());
  }

  SlotSet arriving_;
  std::vector<SlotsApplied> prepared_;
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_PREPARED_SLOTS_H_
