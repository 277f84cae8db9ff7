#include "cc/client/partition.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "cc/wire/vector_kernels.h"
#include "tests/cc/support/shard_of.h"

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
  return partition->Build(tables, *SlotOwners::Even(shard_count));
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

// Ids in the order of their shards, as a pipeline may give them.
std::vector<int64_t> Grouped(std::vector<int64_t> ids, uint32_t shard_count) {
  std::stable_sort(ids.begin(), ids.end(), [&](int64_t a, int64_t b) {
    return ShardOf(a, shard_count) < ShardOf(b, shard_count);
  });
  return ids;
}

TEST(PartitionTest, IdsThatAreGroupedByShardAreNotCopied) {
  const std::vector<int64_t> grouped = Grouped(SomeIds(1000, -500), 5);
  const std::vector<int64_t> mixed = SomeIds(1000, -500);
  Partition partition;
  ASSERT_TRUE(Build(&partition, {mixed, grouped, mixed}, 5).ok());
  const int64_t* next = grouped.data();
  for (uint32_t s = 0; s < 5; ++s) {
    EXPECT_EQ(partition.ids(1, s).data(), next);
    EXPECT_TRUE(partition.places(1, s).contiguous());
    EXPECT_EQ(partition.places(1, s).first, next - grouped.data());
    next += partition.ids(1, s).size();
    for (const size_t table : {0, 2}) {
      EXPECT_EQ(Copy(partition.ids(table, s)), Copy(partition.ids(1, s)));
      EXPECT_FALSE(partition.places(table, s).contiguous());
    }
  }
  EXPECT_EQ(next, grouped.data() + grouped.size());
}

// The ids of a table that is said to be grouped among so many shards.
Partition::Table WithStarts(const std::vector<int64_t>& ids,
                            const std::vector<uint32_t>& starts,
                            uint32_t shard_count) {
  Partition::Table table = Partition::Split(ids);
  table.shard_starts = starts;
  table.starts_of = SlotOwners::Even(shard_count)->fingerprint();
  return table;
}

std::vector<uint32_t> StartsOf(const std::vector<int64_t>& ids,
                               uint32_t shard_count) {
  std::vector<uint32_t> starts(shard_count + 1, 0);
  for (const int64_t id : ids) ++starts[ShardOf(id, shard_count) + 1];
  std::partial_sum(starts.begin(), starts.end(), starts.begin());
  return starts;
}

void ExpectSame(const Partition& one, const Partition& other) {
  for (uint32_t s = 0; s < one.shard_count(); ++s) {
    EXPECT_EQ(Copy(one.ids(0, s)), Copy(other.ids(0, s)));
    EXPECT_EQ(one.places(0, s).first, other.places(0, s).first);
    EXPECT_EQ(one.places(0, s).count, other.places(0, s).count);
    EXPECT_EQ(one.places(0, s).contiguous(), other.places(0, s).contiguous());
  }
}

TEST(PartitionTest, GivenStartsAreAsComputedOnes) {
  for (const uint32_t shard_count : {2u, 5u, 1200u}) {
    const std::vector<int64_t> ids = Grouped(SomeIds(1000, -7), shard_count);
    const std::vector<uint32_t> starts = StartsOf(ids, shard_count);
    Partition computed, given;
    ASSERT_TRUE(Build(&computed, {ids}, shard_count).ok());
    ASSERT_TRUE(given
                    .Build({WithStarts(ids, starts, shard_count)},
                           *SlotOwners::Even(shard_count))
                    .ok());
    ExpectSame(given, computed);
  }
}

TEST(PartitionTest, StartsThatAreNotOfTheIdsAreNotUsed) {
  const std::vector<int64_t> ids = Grouped(SomeIds(1000, 0), 3);
  const std::vector<int64_t> some(ids.begin(), ids.begin() + 999);
  std::vector<uint32_t> late = StartsOf(ids, 3);
  ++late[1];
  const std::vector<uint32_t> falling = {0, 2000, 10, 1000};
  Partition computed;
  ASSERT_TRUE(Build(&computed, {ids}, 3).ok());
  for (const std::vector<uint32_t>& starts :
       {StartsOf(some, 3), StartsOf(ids, 2), StartsOf(ids, 4), late, falling}) {
    Partition given;
    ASSERT_TRUE(
        given.Build({WithStarts(ids, starts, 3)}, *SlotOwners::Even(3)).ok());
    ExpectSame(given, computed);
  }
}

// The first and the last id of each shard are the same with these owners.
TEST(PartitionTest, StartsOfOtherOwnersAreNotUsed) {
  const std::vector<int64_t> ids = Grouped(SomeIds(1000, 0), 3);
  const std::vector<uint32_t> starts = StartsOf(ids, 3);
  std::vector<uint16_t> numbers(kSlots);
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    numbers[slot] =
        static_cast<uint16_t>(SlotOwners::Even(3)->OwnerOfSlot(slot));
  }
  const int64_t moved = ids[1];
  numbers[SlotOf(moved)] = 2;
  const SlotOwners owners(3, numbers);
  Partition partition;
  ASSERT_TRUE(partition.Build({WithStarts(ids, starts, 3)}, owners).ok());
  for (uint32_t s = 0; s < 3; ++s) {
    for (const int64_t id : partition.ids(0, s))
      EXPECT_EQ(owners.OwnerOf(id), s);
  }
}

TEST(PartitionTest, OneIdOutOfItsGroupRegroupsAll) {
  std::vector<int64_t> ids = Grouped(SomeIds(1000, 0), 3);
  std::swap(ids.front(), ids.back());
  Partition partition;
  ASSERT_TRUE(Build(&partition, {ids}, 3).ok());
  std::vector<float> scattered(ids.size());
  const std::vector<float> all(ids.begin(), ids.end());
  for (uint32_t s = 0; s < 3; ++s) {
    std::vector<float> gathered(partition.ids(0, s).size());
    partition.Gather(0, s, 1, all.data(), gathered.data());
    for (size_t i = 0; i < gathered.size(); ++i) {
      const auto id = static_cast<int64_t>(gathered[i]);
      EXPECT_EQ(id, partition.ids(0, s)[i]);
      EXPECT_EQ(ShardOf(id, 3), s);
    }
    ScatterFloats(gathered.data(), partition.places(0, s), 1, scattered.data());
  }
  EXPECT_EQ(scattered, all);
}

// Shards without ids lie between those with some.
TEST(PartitionTest, GroupsMayBeEmpty) {
  const std::vector<int64_t> ids = Grouped({1, 2, 3}, 300);
  Partition partition;
  ASSERT_TRUE(Build(&partition, {ids}, 300).ok());
  for (uint32_t s = 0; s < 300; ++s) {
    for (const int64_t id : partition.ids(0, s)) EXPECT_EQ(ShardOf(id, 300), s);
    EXPECT_TRUE(partition.places(0, s).contiguous());
  }
}

TEST(PartitionTest, WhatHasAnOwnerGoesThereWhole) {
  const std::vector<int64_t> pooled = SomeIds(10, 0);
  const std::vector<int64_t> plain = SomeIds(100, 0);
  Partition partition;
  ASSERT_TRUE(
      partition
          .Build({Partition::Whole(pooled, 3, 2), Partition::Split(plain)},
                 *SlotOwners::Even(4))
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
    ScatterFloats(gathered.data(), partition.places(0, s), 1, scattered.data());
  }
  EXPECT_EQ(scattered, all);
}

// Empty bags have vectors, and no ids.
TEST(PartitionTest, VectorsWithoutIdsAreWork) {
  Partition partition;
  ASSERT_TRUE(
      partition.Build({Partition::Whole({}, 3, 1)}, *SlotOwners::Even(2)).ok());
  EXPECT_FALSE(partition.HasWork(0));
  EXPECT_TRUE(partition.HasWork(1));
}

// A vector of `dim` floats for each id, by which one recognises the id.
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
  const std::vector<int64_t> mixed = SomeIds(100, 1);
  for (const auto& [shard_count, ids] :
       {std::pair(1u, mixed), std::pair(3u, mixed),
        std::pair(3u, Grouped(mixed, 3))}) {
    const std::vector<float> all = Vectors(ids, dim);
    Partition partition;
    ASSERT_TRUE(Build(&partition, {{}, ids}, shard_count).ok());
    std::vector<float> scattered(all.size());
    for (uint32_t s = 0; s < shard_count; ++s) {
      const std::vector<int64_t> of_shard = Copy(partition.ids(1, s));
      std::vector<float> gathered(of_shard.size() * dim);
      partition.Gather(1, s, dim, all.data(), gathered.data());
      EXPECT_EQ(gathered, Vectors(of_shard, dim));
      ScatterFloats(gathered.data(), partition.places(1, s), dim,
                    scattered.data());
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
