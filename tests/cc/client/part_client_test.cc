#include "cc/client/part_client.h"

#include <gtest/gtest.h>

#include <set>

namespace persia {
namespace {

TEST(PartClientTest, OneAddressKeepsTheClient) {
  EXPECT_EQ(PartClient(7, 0, 1), 7u);
  EXPECT_EQ(PartClient(0, 0, 1), 0u);
}

TEST(PartClientTest, NobodyStaysNobody) {
  for (const uint32_t index : {0u, 1u, 6u}) {
    EXPECT_EQ(PartClient(0, index, 7), 0u);
  }
}

// With other values, an update that is sent again across an upgrade would be
// applied twice.
TEST(PartClientTest, HasTheseValues) {
  EXPECT_EQ(PartClient(7, 0, 2), 0x64bf61b512ffabe7u);
  EXPECT_EQ(PartClient(7, 1, 2), 0x7716da39cba275b2u);
}

TEST(PartClientTest, EveryClientAndAddressIsItsOwn) {
  std::set<uint64_t> parts;
  for (uint64_t client = 1; client <= 100; ++client) {
    for (uint32_t index = 0; index < 100; ++index) {
      parts.insert(PartClient(client, index, 100));
    }
  }
  EXPECT_EQ(parts.size(), 100u * 100u);
  EXPECT_EQ(parts.count(0), 0u);
}

// A client and an address whose hash is 0.
TEST(PartClientTest, NoClientBecomesNobody) {
  uint64_t zero = 0;  // Mix64's inverse of 0: undo its steps one by one.
  zero -= 0x9e3779b97f4a7c15ull;
  ASSERT_EQ(Mix64(zero), 0u);
  const uint64_t client = zero ^ Mix64(3);
  EXPECT_NE(PartClient(client, 3, 4), 0u);
}

}  // namespace
}  // namespace persia
