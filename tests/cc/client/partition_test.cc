#include "cc/client/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "cc/base/hash.h"

namespace persia {
namespace {

std::vector<int64_t> SomeIds(size_t count, int64_t first) {
  std::vector<int64_t> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

std::vector<int64_t> Copy(Partition::Ids ids) {
  return std::vector<int64_t>(ids.begin(), ids.end());
}

Status Build(Partition* partition, const std::vector<Partition::Ids>& ids,
             uint32_t shard_count) {
  std::vector<Partition::Table> tables;
  for (const Partition::Ids of_table : ids) {
    tables.push_back(Partition::Split(of_table));
  }
  return partition->Build(tables, shard_count);
}

TEST(PartitionTest, GivesEachShardItsIdsInTheirOrder) {
  const std::vector<int64_t> first = SomeIds(1000, -500);
  const std::vector<int64_t> second = SomeIds(77, 1 << 20);
  for (const uint32_t shard_count : {1u, 2u, 5u, 300u}) {
    Partition partition;
    ASSERT_TRUE(Build(&partition, {first, second}, shard_count).ok());
    for (uint32_t s = 0; s < shard_count; ++s) {
      for (const size_t table : {0, 1}) {
        std::vector<int64_t> expected;
        for (const int64_t id : table == 0 ? first : second) {
          if (ShardOf(id, shard_count) == s) expected.push_back(id);
        }
        EXPECT_EQ(Copy(partition.ids(table, s)), expected);
      }
    }
  }
}

TEST(PartitionTest, SingleShardCopiesNothing) {
  const std::vector<int64_t> ids = SomeIds(10, 0);
  Partition partition;
  ASSERT_TRUE(Build(&partition, {ids}, 1).ok());
  EXPECT_EQ(partition.ids(0, 0).data(), ids.data());
}

TEST(PartitionTest, KnowsWhichShardsHaveWork) {
  const std::vector<int64_t> one = {42};
  Partition partition;
  ASSERT_TRUE(Build(&partition, {one, {}}, 4).ok());
  for (uint32_t s = 0; s < 4; ++s) {
    EXPECT_EQ(partition.HasWork(s), s == ShardOf(42, 4)) << s;
  }
  ASSERT_TRUE(Build(&partition, {{}, {}}, 4).ok());
  for (uint32_t s = 0; s < 4; ++s) EXPECT_FALSE(partition.HasWork(s));
}

TEST(PartitionTest, WhatHasAnOwnerGoesThereWhole) {
  const std::vector<int64_t> pooled = SomeIds(10, 0);
  const std::vector<int64_t> plain = SomeIds(100, 0);
  Partition partition;
  ASSERT_TRUE(
      partition
          .Build({Partition::Whole(pooled, 3, 2), Partition::Split(plain)}, 4)
          .ok());
  for (uint32_t s = 0; s < 4; ++s) {
    EXPECT_EQ(Copy(partition.ids(0, s)),
              s == 2 ? pooled : std::vector<int64_t>());
    EXPECT_EQ(partition.places(0, s).count, s == 2 ? 3u : 0u);
  }
  EXPECT_EQ(partition.ids(0, 2).data(), pooled.data());
  const std::vector<float> all = {1, 2, 3};
  std::vector<float> gathered(3), scattered(3);
  partition.Gather(0, 2, 1, all.data(), gathered.data());
  EXPECT_EQ(gathered, all);
  for (uint32_t s = 0; s < 4; ++s) {
    partition.Scatter(0, s, 1, gathered.data(), scattered.data());
  }
  EXPECT_EQ(scattered, all);
}

// Empty bags have vectors, and no ids.
TEST(PartitionTest, VectorsWithoutIdsAreWork) {
  Partition partition;
  ASSERT_TRUE(partition.Build({Partition::Whole({}, 3, 1)}, 2).ok());
  EXPECT_FALSE(partition.HasWork(0));
  EXPECT_TRUE(partition.HasWork(1));
}

// A vector of `dim` floats that tells its id.
std::vector<float> Vectors(const std::vector<int64_t>& ids, size_t dim) {
  std::vector<float> vectors;
  for (const int64_t id : ids) {
    for (size_t d = 0; d < dim; ++d) {
      vectors.push_back(static_cast<float>(id * 1000) + static_cast<float>(d));
    }
  }
  return vectors;
}

class PartitionDimTest : public testing::TestWithParam<size_t> {};

TEST_P(PartitionDimTest, GathersAndScattersEachShardsVectors) {
  const size_t dim = GetParam();
  const std::vector<int64_t> ids = SomeIds(100, 1);
  const std::vector<float> all = Vectors(ids, dim);
  for (const uint32_t shard_count : {1u, 3u}) {
    Partition partition;
    ASSERT_TRUE(Build(&partition, {{}, ids}, shard_count).ok());
    std::vector<float> scattered(all.size());
    for (uint32_t s = 0; s < shard_count; ++s) {
      const std::vector<int64_t> of_shard = Copy(partition.ids(1, s));
      std::vector<float> gathered(of_shard.size() * dim);
      partition.Gather(1, s, dim, all.data(), gathered.data());
      EXPECT_EQ(gathered, Vectors(of_shard, dim));
      partition.Scatter(1, s, dim, gathered.data(), scattered.data());
    }
    EXPECT_EQ(scattered, all);
  }
}

INSTANTIATE_TEST_SUITE_P(Dims, PartitionDimTest,
                         testing::Values(1, 7, 8, 16, 32, 64, 100));

TEST(PartitionTest, IsUsedAgain) {
  Partition partition;
  const std::vector<int64_t> many = SomeIds(1000, 0);
  const std::vector<int64_t> few = SomeIds(3, 5000);
  ASSERT_TRUE(Build(&partition, {many}, 4).ok());
  ASSERT_TRUE(Build(&partition, {few}, 2).ok());
  std::vector<int64_t> joined = Copy(partition.ids(0, 0));
  const std::vector<int64_t> rest = Copy(partition.ids(0, 1));
  joined.insert(joined.end(), rest.begin(), rest.end());
  std::sort(joined.begin(), joined.end());
  EXPECT_EQ(joined, few);
}

}  // namespace
}  // namespace persia
