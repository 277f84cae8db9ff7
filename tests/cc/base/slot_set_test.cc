#include "cc/base/slot_set.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace persia {
namespace {

constexpr size_t kWords = kSlots / 64;

TEST(SlotSetTest, PeopleReadRanges) {
  EXPECT_EQ(ToString(SlotSet()), "");
  EXPECT_EQ(ToString(SlotSet().set(7)), "7");
  EXPECT_EQ(ToString(SlotSet().set(0).set(1).set(3)), "0-1, 3");
  EXPECT_EQ(ToString(SlotSet().set(2).set(3).set(4).set(kSlots - 1)),
            "2-4, 16383");
  EXPECT_EQ(ToString(SlotSet().set()), "0-16383");
}

TEST(SlotSetTest, AWordHasABitPerSlotLowestFirst) {
  const auto words = ToWords(SlotSet().set(0).set(63).set(64).set(kSlots - 1));
  ASSERT_EQ(words.size(), kWords);
  EXPECT_EQ(words[0], uint64_t{1} << 63 | 1);
  EXPECT_EQ(words[1], 1u);
  EXPECT_EQ(words[2], 0u);
  EXPECT_EQ(words.back(), uint64_t{1} << 63);
  EXPECT_TRUE(ToWords(SlotSet()).empty());
}

TEST(SlotSetTest, WordsGiveTheSetBack) {
  SlotSet scattered;
  for (uint32_t slot = 3; slot < kSlots; slot += slot / 2) scattered.set(slot);
  for (const SlotSet& slots :
       {SlotSet(), SlotSet().set(), SlotSet().set(kSlots - 1), scattered}) {
    const auto back = SlotsFromWords(ToWords(slots));
    ASSERT_TRUE(back.ok()) << back.status().message();
    EXPECT_EQ(*back, slots);
  }
}

TEST(SlotSetTest, WordsThatNoSetHasAreRefused) {
  for (const size_t size : {size_t{1}, kWords - 1, kWords + 1}) {
    const auto back = SlotsFromWords(std::vector<uint64_t>(size, 1));
    EXPECT_EQ(back.status().code(), Code::kDataLoss) << size;
  }
  EXPECT_EQ(SlotsFromWords({1, 2}).status().message(),
            "a set of slots must have 256 words or none, received 2");
  // An empty set has one form only.
  EXPECT_EQ(SlotsFromWords(std::vector<uint64_t>(kWords)).status().code(),
            Code::kDataLoss);
}

}  // namespace
}  // namespace persia
