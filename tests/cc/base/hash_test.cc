#include "cc/base/hash.h"

#include <gtest/gtest.h>

#include <vector>

namespace persia {
namespace {

TEST(Mix64, IsSplitMix64) {
  EXPECT_EQ(Mix64(0), 0xe220a8397b1dcdafull);  // Its first output of seed 0.
  EXPECT_EQ(Mix64(1), 0x910a2dec89025cc1ull);
}

TEST(HashName, NeverChanges) {
  EXPECT_EQ(HashName(""), 0xc3817c016ba4ff30ull);
  EXPECT_EQ(HashName("item"), 0xc4b80c389898d924ull);
  EXPECT_EQ(HashName("ns/user"), 0x1afe5e3a67f8e3efull);
}

TEST(ShardOf, NeverChanges) {
  EXPECT_EQ(ShardOf(0, 1000), 464u);
  EXPECT_EQ(ShardOf(1, 1000), 758u);
  EXPECT_EQ(ShardOf(-1, 1000), 707u);
  EXPECT_EQ(ShardOf(123456789, 1000), 525u);
  EXPECT_EQ(ShardOf(int64_t{1} << 62, 1000), 884u);
}

TEST(ShardOf, SpreadsConsecutiveIdsEvenly) {
  constexpr uint32_t kShards = 7;
  constexpr int kIds = 70000;
  std::vector<int> held(kShards);
  for (int64_t id = 0; id < kIds; ++id) ++held[ShardOf(id, kShards)];
  for (const int count : held) EXPECT_NEAR(count, kIds / kShards, 500);
}

// If both used one hash, the ids of a shard would share their high hash bits.
TEST(ShardOf, IsIndependentOfHashId) {
  constexpr int kIds = 40000;
  int high = 0, total = 0;
  for (int64_t id = 0; id < kIds; ++id) {
    if (ShardOf(id, 2) != 0) continue;
    ++total;
    high += HashId(id) >> 63;
  }
  EXPECT_NEAR(high, total / 2, 500);
}

}  // namespace
}  // namespace persia
