#include "cc/base/hash.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace persia
