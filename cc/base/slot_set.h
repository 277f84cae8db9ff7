// SlotSet: some of all slots.

#ifndef PERSIA_CC_BASE_SLOT_SET_H_
#define PERSIA_CC_BASE_SLOT_SET_H_

#include <bitset>
#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/slots.h"
#include "cc/base/status.h"

namespace persia {

using SlotSet = std::bitset<kSlots>;

// The slots as ranges, for people: "0-99, 200".
std::string ToString(const SlotSet& slots);

// The slots as they are in messages and files: a bit per slot, lowest bits
// first, or nothing if the set is empty.
std::vector<uint64_t> ToWords(const SlotSet& slots);
// Returns kDataLoss unless ToWords has returned `words`.
Result<SlotSet> SlotsFromWords(const std::vector<uint64_t>& words);

}  // namespace persia

#endif  // PERSIA_CC_BASE_SLOT_SET_H_
