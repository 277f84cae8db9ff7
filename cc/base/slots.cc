#include "cc/base/slots.h"

#include <utility>

namespace persia {

SlotOwners::SlotOwners(uint32_t shards, std::vector<uint16_t> owners)
    : shards_(shards), fingerprint_(Mix64(shards)) {
  for (const uint16_t owner : owners) {
    fingerprint_ = Mix64(fingerprint_ ^ owner);
  }
  if (fingerprint_ == 0) fingerprint_ = 1;
  if (shards <= kMostOfBytes) {
    bytes_.assign(owners.begin(), owners.end());
  } else {
    owners_ = std::move(owners);
  }
}

std::shared_ptr<const SlotOwners> SlotOwners::Even(uint32_t shards) {
  std::vector<uint16_t> owners(kSlots);
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    owners[slot] = static_cast<uint16_t>(uint64_t{slot} * shards >> kSlotBits);
  }
  return std::make_shared<const SlotOwners>(shards, std::move(owners));
}

}  // namespace persia
