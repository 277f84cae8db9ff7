// SlotLoadsRequest: asks a shard how busy each slot was.

#ifndef PERSIA_CC_SERVICE_SLOT_LOADS_REQUEST_H_
#define PERSIA_CC_SERVICE_SLOT_LOADS_REQUEST_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/base/clock.h"
#include "cc/base/slot_set.h"
#include "cc/base/slots.h"

namespace persia {

// Estimates, from samples, of what lookups and updates asked of a slot since
// the shard started.
struct SlotLoad {
  uint64_t ids = 0;    // How many ids they had.
  uint64_t bytes = 0;  // How many bytes these ids' vectors take as float32.
};

// A caller that wants to know how busy slots are now asks twice, and subtracts.
// A client of several shards returns the sums.
struct SlotLoadsRequest {
  // Above the size of a reply.
  static constexpr uint64_t kMostBytes = 2 * sizeof(uint64_t) * kSlots + 4096;

  Deadline deadline;

  // Outputs. Which slots have a load, and in ascending order of these slots, an
  // element each.
  SlotSet slots;
  std::vector<uint64_t> ids;
  std::vector<uint64_t> bytes;

  // Sets the outputs. `loads` has kSlots elements, as that of AddTo.
  void Tell(const std::vector<SlotLoad>& loads) {
    slots.reset();
    ids.clear();
    bytes.clear();
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      if (loads[slot].ids == 0 && loads[slot].bytes == 0) continue;
      slots.set(slot);
      ids.push_back(loads[slot].ids);
      bytes.push_back(loads[slot].bytes);
    }
  }

  void AddTo(std::vector<SlotLoad>* loads) const {
    size_t place = 0;
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      if (!slots[slot]) continue;
      (*loads)[slot].ids += ids[place];
      (*loads)[slot].bytes += bytes[place];
      ++place;
    }
  }
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_SLOT_LOADS_REQUEST_H_
