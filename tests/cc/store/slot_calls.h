// Sets of slots, and what belongs to them.

#ifndef PERSIA_TESTS_CC_STORE_SLOT_CALLS_H_
#define PERSIA_TESTS_CC_STORE_SLOT_CALLS_H_

#include <cstdint>
#include <iterator>
#include <map>

#include "cc/base/slot_set.h"
#include "tests/cc/store/table_calls.h"

namespace persia {

inline SlotSet SlotRange(uint32_t begin, uint32_t end) {
  SlotSet slots;
  for (uint32_t slot = begin; slot < end; ++slot) slots.set(slot);
  return slots;
}

inline SlotSet EvenSlots() {
  SlotSet even;
  for (uint32_t slot = 0; slot < kSlots; slot += 2) even.set(slot);
  return even;
}

inline Ids InSlots(const SlotSet& slots, const Ids& ids) {
  Ids found;
  for (const int64_t id : ids) {
    if (slots[SlotOf(id)]) found.push_back(id);
  }
  return found;
}

inline std::map<int64_t, TableRow> InSlots(const SlotSet& slots,
                                           std::map<int64_t, TableRow> rows) {
  for (auto row = rows.begin(); row != rows.end();) {
    row = slots[SlotOf(row->first)] ? std::next(row) : rows.erase(row);
  }
  return rows;
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_STORE_SLOT_CALLS_H_
