#include "cc/base/slot_set.h"

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

std::vector<uint64_t> ToWords(const SlotSet& slots) {
  std::vector<uint64_t> words;
  if (slots.none()) return words;
  words.resize(kSlots / 64);
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    if (slots[slot]) words[slot / 64] |= uint64_t{1} << slot % 64;
  }
  return words;
}

Result<SlotSet> SlotsFromWords(const std::vector<uint64_t>& words) {
  SlotSet slots;
  if (words.empty()) return slots;
  if (words.size() != kSlots / 64) {
    return Status(Code::kDataLoss,
                  Concat("a set of slots must have ", kSlots / 64,
                         " words or none, received ", words.size()));
  }
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    if (words[slot / 64] >> slot % 64 & 1) slots.set(slot);
  }
  if (slots.none()) {
    return Status(Code::kDataLoss, "an empty set of slots has words");
  }
  return slots;
}

}  // namespace persia
