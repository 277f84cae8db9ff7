#include "cc/base/slots.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace persia {
namespace {

TEST(SlotOf, NeverChanges) {
  EXPECT_EQ(kSlots, 16384u);
  EXPECT_EQ(SlotOf(0), 7614u);
  EXPECT_EQ(SlotOf(1), 12423u);
  EXPECT_EQ(SlotOf(-1), 11585u);
  EXPECT_EQ(SlotOf(123456789), 8607u);
  EXPECT_EQ(SlotOf(int64_t{1} << 62), 14497u);
}

TEST(SlotOf, SpreadsConsecutiveIdsEvenly) {
  constexpr int64_t kIds = 100 * int64_t{kSlots};
  std::vector<int> held(kSlots);
  for (int64_t id = 0; id < kIds; ++id) ++held[SlotOf(id)];
  for (const int count : held) EXPECT_NEAR(count, 100, 60);
}

// If both used one hash, the ids of a slot would share their high hash bits.
TEST(SlotOf, IsIndependentOfHashId) {
  constexpr int kIds = 40000;
  int high = 0, total = 0;
  for (int64_t id = 0; id < kIds; ++id) {
    if (SlotOf(id) >= kSlots / 2) continue;
    ++total;
    high += HashId(id) >> 63;
  }
  EXPECT_NEAR(high, total / 2, 500);
}

TEST(SlotOwners, EvenOwnersHaveAlikeManyNeighboringSlots) {
  for (const uint32_t shards : {1u, 2u, 3u, 7u, 256u, 257u, 1000u, kSlots}) {
    const auto owners = SlotOwners::Even(shards);
    EXPECT_EQ(owners->shards(), shards);
    std::vector<uint32_t> owned(shards);
    uint32_t last = 0;
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      const uint32_t owner = owners->OwnerOfSlot(slot);
      ASSERT_LT(owner, shards);
      ASSERT_GE(owner, last);
      last = owner;
      ++owned[owner];
    }
    for (const uint32_t count : owned) {
      EXPECT_GE(count, kSlots / shards);
      EXPECT_LE(count, kSlots / shards + 1);
    }
  }
}

TEST(SlotOwners, AnIdBelongsToTheOwnerOfItsSlot) {
  std::vector<uint16_t> numbers(kSlots, 1);
  numbers[SlotOf(42)] = 2;
  const SlotOwners owners(3, std::move(numbers));
  EXPECT_EQ(owners.OwnerOf(42), 2u);
  EXPECT_EQ(owners.OwnerOf(43), 1u);
}

}  // namespace
}  // namespace persia
