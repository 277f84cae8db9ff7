#include "cc/base/owned_slots.h"

#include <algorithm>

namespace persia {

OwnedSlots SlotsOfNoCluster() { return {0, {{1, SlotSet().set()}}}; }

SlotSet SlotsIn(const OwnedSlots& owned) {
  SlotSet slots;
  for (const SlotsOfEpoch& each : owned.epochs) slots |= each.slots;
  return slots;
}

SlotSet CommonSlots(const OwnedSlots& a, const OwnedSlots& b) {
  SlotSet common;
  if (a.cluster != b.cluster) return common;
  for (const SlotsOfEpoch& of_a : a.epochs) {
    for (const SlotsOfEpoch& of_b : b.epochs) {
      if (of_a.epoch == of_b.epoch) common |= of_a.slots & of_b.slots;
    }
  }
  return common;
}

OwnedSlots Restricted(OwnedSlots owned, const SlotSet& slots) {
  for (SlotsOfEpoch& each : owned.epochs) each.slots &= slots;
  const auto is_empty = [](const SlotsOfEpoch& each) {
    return each.slots.none();
  };
  owned.epochs.erase(
      std::remove_if(owned.epochs.begin(), owned.epochs.end(), is_empty),
      owned.epochs.end());
  return owned;
}

}  // namespace persia
