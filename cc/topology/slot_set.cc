#include "cc/topology/slot_set.h"

namespace persia {

std::string ToString(const SlotSet& slots) {
  std::string text;
  for (uint32_t first = 0; first < kSlots; ++first) {
    if (!slots[first]) continue;
    uint32_t last = first;
    while (last + 1 < kSlots && slots[last + 1]) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(first);
    if (last > first) text += "-" + std::to_string(last);
    first = last;
  }
  return text;
}

}  // namespace persia
