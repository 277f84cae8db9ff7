#include "cc/base/random_bytes.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace persia {
namespace {

TEST(RandomBytesTest, NoTwoAreTheSame) {
  std::set<std::vector<uint8_t>> seen;
  for (int i = 0; i < 100; ++i) {
    std::vector<uint8_t> bytes(32);
    ASSERT_TRUE(FillWithRandomBytes(bytes).ok());
    EXPECT_TRUE(seen.insert(bytes).second);
  }
}

TEST(RandomBytesTest, FillsLargeBuffersToTheirEnd) {
  std::vector<uint8_t> bytes(1 << 20);
  ASSERT_TRUE(FillWithRandomBytes(bytes).ok());
  // 32 zeros in a row at the end would be chance once in 2^256.
  EXPECT_NE(std::vector<uint8_t>(bytes.end() - 32, bytes.end()),
            std::vector<uint8_t>(32));
}

TEST(RandomBytesTest, NumbersAreNotZeroAndNoTwoTheSame) {
  std::set<uint64_t> seen = {0};
  for (int i = 0; i < 100; ++i) {
    const auto number = RandomNonZero();
    ASSERT_TRUE(number.ok());
    EXPECT_TRUE(seen.insert(*number).second);
  }
}

}  // namespace
}  // namespace persia
