// Slots: the units in which rows are spread over shards. An id's slot never
// changes. Each slot has one owner, the shard that holds the slot's rows.
//
// Thread-safety: pure functions and immutable values.

#ifndef PERSIA_CC_BASE_SLOTS_H_
#define PERSIA_CC_BASE_SLOTS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/base/hash.h"

namespace persia {

// The number of slots, which is part of the protocol and of all file formats.
inline constexpr uint32_t kSlotBits = 14;
inline constexpr uint32_t kSlots = uint32_t{1} << kSlotBits;

// Returns the slot of an id: see HashForSlot.
inline uint32_t SlotOf(int64_t id) {
  return static_cast<uint32_t>(HashForSlot(id) >> (64 - kSlotBits));
}

// The owners of all slots, as the numbers of shards from 0 on.
class SlotOwners {
 public:
  // Gives each of `shards` shards, of which there must be 1 to kSlots, as many
  // neighboring slots, give or take one.
  static std::shared_ptr<const SlotOwners> Even(uint32_t shards);

  // `owners` must have kSlots numbers below `shards`.
  SlotOwners(uint32_t shards, std::vector<uint16_t> owners);

  // How many shards there are. Some may own no slot.
  uint32_t shards() const { return shards_; }

  uint32_t OwnerOfSlot(uint32_t slot) const {
    return shards_ <= kMostOfBytes ? bytes_[slot] : owners_[slot];
  }
  uint32_t OwnerOf(int64_t id) const { return OwnerOfSlot(SlotOf(id)); }

  // A hash of all owners, not 0: other owners have another one.
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  // Each id of each request is looked up here, so the numbers of few shards are
  // bytes: these take a half of a level-1 data cache, and numbers of 16 bits
  // all of it, which makes the removal of duplicates 8% slower.
  static constexpr uint32_t kMostOfBytes = 256;

  uint32_t shards_;
  std::vector<uint8_t> bytes_;    // Empty if there are more shards.
  std::vector<uint16_t> owners_;  // Empty otherwise.
  uint64_t fingerprint_;
};

}  // namespace persia

#endif  // PERSIA_CC_BASE_SLOTS_H_
