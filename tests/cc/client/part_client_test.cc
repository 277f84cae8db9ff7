#include "cc/client/part_client.h"

#include <gtest/gtest.h>

#include <set>

namespace persia {
namespace {

TEST(PartClientTest, NoKeyKeepsTheClient) {
  EXPECT_EQ(PartClient(7, 0), 7u);
  EXPECT_EQ(PartClient(0, 0), 0u);
}

TEST(PartClientTest, NobodyStaysNobody) {
  for (const uint64_t key : {0u, 1u, 6u}) EXPECT_EQ(PartClient(0, key), 0u);
}

// With other values, an update that is sent again across an upgrade would be
// applied twice.
TEST(PartClientTest, HasTheseValues) {
  EXPECT_EQ(PartClient(7, 1), 0x7716da39cba275b2u);
}

TEST(PartClientTest, EveryClientAndServerIsItsOwn) {
  std::set<uint64_t> parts;
  for (uint64_t client = 1; client <= 100; ++client) {
    for (uint64_t key = 1; key <= 100; ++key) {
      parts.insert(PartClient(client, key));
    }
  }
  EXPECT_EQ(parts.size(), 100u * 100u);
  EXPECT_EQ(parts.count(0), 0u);
}

// A client and a server whose hash is 0.
TEST(PartClientTest, NoClientBecomesNobody) {
  uint64_t zero = 0;  // Mix64's inverse of 0: undo its steps one by one.
  zero -= 0x9e3779b97f4a7c15ull;
  ASSERT_EQ(Mix64(zero), 0u);
  const uint64_t client = zero ^ Mix64(3);
  EXPECT_NE(PartClient(client, 3), 0u);
}

}  // namespace
}  // namespace persia
