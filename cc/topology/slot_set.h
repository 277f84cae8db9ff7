// SlotSet: some of all slots.

#ifndef PERSIA_CC_TOPOLOGY_SLOT_SET_H_
#define PERSIA_CC_TOPOLOGY_SLOT_SET_H_

#include <bitset>
#include <string>

#include "cc/base/slots.h"

namespace persia {

using SlotSet = std::bitset<kSlots>;

// The slots as ranges, for people: "0-99, 200".
std::string ToString(const SlotSet& slots);

}  // namespace persia

#endif  // PERSIA_CC_TOPOLOGY_SLOT_SET_H_
