#include "cc/base/dedupe.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cc/base/dedupe_index.h"
#include "cc/base/hash.h"
#include "tests/cc/support/shard_of.h"

namespace persia {
namespace {

using Ids = std::vector<int64_t>;
using Indices = std::vector<uint32_t>;
using Floats = std::vector<float>;

// The same, with the standard library's containers.
UniqueIds ReferenceDedupe(const Ids& batch) {
  UniqueIds unique;
  std::unordered_map<int64_t, uint32_t> places;
  for (const int64_t id : batch) {
    const auto [place, is_new] =
        places.emplace(id, static_cast<uint32_t>(unique.ids.size()));
    if (is_new) unique.ids.push_back(id);
    unique.inverse.push_back(place->second);
  }
  return unique;
}

TEST(Dedupe, KeepsTheOrderOfFirstAppearance) {
  const UniqueIds unique = Dedupe(Ids{9, 4, 9, 9, 7, 4});
  EXPECT_EQ(unique.ids, (Ids{9, 4, 7}));
  EXPECT_EQ(unique.inverse, (Indices{0, 1, 0, 0, 2, 1}));
  EXPECT_TRUE(unique.had_duplicates());
}

TEST(Dedupe, LeavesABatchWithoutDuplicatesAsItIs) {
  const UniqueIds unique = Dedupe(Ids{3, 1, 2});
  EXPECT_EQ(unique.ids, (Ids{3, 1, 2}));
  EXPECT_EQ(unique.inverse, (Indices{0, 1, 2}));
  EXPECT_FALSE(unique.had_duplicates());
}

TEST(Dedupe, TakesAnEmptyBatch) {
  const UniqueIds unique = Dedupe(Ids());
  EXPECT_TRUE(unique.ids.empty());
  EXPECT_TRUE(unique.inverse.empty());
  EXPECT_FALSE(unique.had_duplicates());
}

TEST(Dedupe, TakesNegativeAndExtremeIds) {
  constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();
  const UniqueIds unique =
      Dedupe(Ids{0, -1, kLowest, kHighest, -1, kHighest, kLowest, 0});
  EXPECT_EQ(unique.ids, (Ids{0, -1, kLowest, kHighest}));
  EXPECT_EQ(unique.inverse, (Indices{0, 1, 2, 3, 1, 3, 2, 0}));
}

TEST(Dedupe, ForgetsEarlierBatchesWhateverTheirSizes) {
  std::mt19937_64 random(1);
  // Around the sizes at which the table grows, and small ones after large ones.
  for (const size_t size :
       {1, 512, 513, 5000, 3, 1024, 1025, 20000, 2, 0, 700}) {
    for (int repeat = 0; repeat < 5; ++repeat) {
      Ids batch(size);
      for (int64_t& id : batch) id = static_cast<int64_t>(random() % 1000);
      const UniqueIds expected = ReferenceDedupe(batch);
      const UniqueIds unique = Dedupe(batch);
      ASSERT_EQ(unique.ids, expected.ids) << "batch of " << size;
      ASSERT_EQ(unique.inverse, expected.inverse) << "batch of " << size;
    }
  }
}

TEST(Dedupe, GroupsIdsByShard) {
  std::mt19937_64 random(1);
  for (const uint32_t shards : {1, 2, 7}) {
    Ids batch(1000);
    for (int64_t& id : batch) id = static_cast<int64_t>(random() % 300);
    UniqueIds expected = ReferenceDedupe(batch);
    std::stable_sort(expected.ids.begin(), expected.ids.end(),
                     [&](int64_t a, int64_t b) {
                       return ShardOf(a, shards) < ShardOf(b, shards);
                     });
    const UniqueIds unique = Dedupe(batch, SlotOwners::Even(shards).get());
    EXPECT_EQ(unique.ids, expected.ids);
    for (size_t i = 0; i < batch.size(); ++i) {
      ASSERT_EQ(unique.ids[unique.inverse[i]], batch[i]);
    }
  }
}

TEST(Dedupe, TellsWhereEachShardsIdsStart) {
  std::mt19937_64 random(1);
  Ids batch(1000);
  for (int64_t& id : batch) id = static_cast<int64_t>(random() % 300);
  for (const uint32_t shards : {2, 7, 400}) {  // 400: some have no ids.
    const UniqueIds unique = Dedupe(batch, SlotOwners::Even(shards).get());
    EXPECT_EQ(unique.starts_of, SlotOwners::Even(shards)->fingerprint());
    ASSERT_EQ(unique.shard_starts.size(), shards + 1);
    EXPECT_EQ(unique.shard_starts.front(), 0u);
    EXPECT_EQ(unique.shard_starts.back(), unique.ids.size());
    for (uint32_t s = 0; s < shards; ++s) {
      for (uint32_t i = unique.shard_starts[s]; i < unique.shard_starts[s + 1];
           ++i) {
        ASSERT_EQ(ShardOf(unique.ids[i], shards), s);
      }
    }
  }
  EXPECT_TRUE(Dedupe(batch, SlotOwners::Even(1).get()).shard_starts.empty());
}

TEST(Dedupe, LeavesABatchWithoutDuplicatesAsItIsWhateverTheShards) {
  const Ids batch{1, 2, 3, 4, 5, 6, 7, 8};
  const UniqueIds unique = Dedupe(batch, SlotOwners::Even(2).get());
  EXPECT_EQ(unique.ids, batch);
  EXPECT_EQ(unique.inverse, (Indices{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_TRUE(unique.shard_starts.empty());
}

// Ids that all begin at one slot of a table by HashId, a hash that everybody
// knows. An earlier version took its low bits for the slot.
Ids ChosenIds(size_t count) {
  const auto undo_shift = [](uint64_t x, int shift) {
    uint64_t undone = x;
    for (int known = shift; known < 64; known += shift) {
      undone = x ^ (undone >> shift);
    }
    return undone;
  };
  const auto inverse = [](uint64_t odd) {
    uint64_t inverse = odd;
    for (int bits = 3; bits < 64; bits *= 2) inverse *= 2 - odd * inverse;
    return inverse;
  };
  Ids ids;
  for (uint64_t i = 1; i <= count; ++i) {
    uint64_t x = undo_shift(i << 32, 31) * inverse(0x94d049bb133111ebull);
    x = undo_shift(x, 27) * inverse(0xbf58476d1ce4e5b9ull);
    x = undo_shift(x, 30) - 0x9e3779b97f4a7c15ull;
    ids.push_back(static_cast<int64_t>(x));
    EXPECT_EQ(HashId(ids.back()), i << 32);
  }
  return ids;
}

// How many slots the index looks at besides the first slot of each id.
size_t Away(const Ids& batch, DedupeIndex* index) {
  Ids ids(batch.size() + 2);
  Indices inverse(batch.size());
  EXPECT_NE(index->Number(batch, ids.data(), inverse.data()),
            DedupeIndex::kSlow);
  return index->away();
}

TEST(DedupeIndex, ChosenIdsAreAsNearTheirSlotsAsOthers) {
  const Ids chosen = ChosenIds(20000);
  std::mt19937_64 random(2);
  Ids others(chosen.size());
  for (int64_t& id : others) id = static_cast<int64_t>(random());
  DedupeIndex index;
  EXPECT_LT(Away(others, &index), 2 * others.size());
  EXPECT_LT(Away(chosen, &index), 2 * chosen.size());
}

TEST(DedupeIndex, CommonIdsAreNearTheirSlotsWhateverTheKey) {
  for (int key = 0; key < 50; ++key) {
    DedupeIndex index;
    for (const int64_t step : {1, 3, 64, 1 << 20, 1000000007}) {
      Ids ids(5000);
      for (size_t i = 0; i < ids.size(); ++i) {
        ids[i] = static_cast<int64_t>(i) * step;
      }
      ASSERT_LT(Away(ids, &index), 2 * ids.size()) << "step " << step;
    }
  }
}

TEST(DedupeIndex, GivesUpOnIdsThatAreChosenForItsKey) {
  // All hashes are 0.
  DedupeIndex index(KeyedHash(KeyedHash::Key{0, 0, 0, 0}));
  std::mt19937_64 random(3);
  Ids batch(5000);
  for (int64_t& id : batch) id = static_cast<int64_t>(random() % 4000);
  const UniqueIds expected = ReferenceDedupe(batch);
  const UniqueIds unique = Dedupe(batch, &index);
  EXPECT_EQ(unique.ids, expected.ids);
  EXPECT_EQ(unique.inverse, expected.inverse);
  EXPECT_LT(index.away(), batch.size() * 40);
  // The next batch has another key.
  EXPECT_LT(Away(batch, &index), 2 * batch.size());
}

TEST(DedupeBySorting, IsTheSame) {
  std::mt19937_64 random(4);
  for (const size_t size : {0, 1, 2, 100, 5000}) {
    Ids batch(size);
    for (int64_t& id : batch) id = static_cast<int64_t>(random() % 700) - 350;
    const UniqueIds expected = ReferenceDedupe(batch);
    const UniqueIds unique = DedupeBySorting(batch);
    EXPECT_EQ(unique.ids, expected.ids);
    EXPECT_EQ(unique.inverse, expected.inverse);
  }
}

TEST(Dedupe, RunsOnManyThreadsAtOnce) {
  std::vector<std::thread> threads;
  for (int64_t t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int64_t i = 0; i < 50; ++i) {
        const Ids batch{t, i, t, i + 100, i};
        EXPECT_EQ(Dedupe(batch).ids, ReferenceDedupe(batch).ids);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ExpandRows, RepeatsTheRowsOfDuplicates) {
  const UniqueIds unique = Dedupe(Ids{5, 6, 5});
  const Floats rows{1, 2, 3, 4};
  Floats out(6);
  ExpandRows(unique, rows, 2, out);
  EXPECT_EQ(out, (Floats{1, 2, 3, 4, 1, 2}));
}

TEST(ExpandRows, FillsColumnsOfAMatrix) {
  const UniqueIds unique = Dedupe(Ids{5, 6, 5});
  const Floats rows{1, 2, 3, 4};
  Floats matrix(12);
  ExpandRows(unique, rows, 2,
             StridedSpan<float>::Columns(matrix, 3, 4, /*column=*/1, 2));
  EXPECT_EQ(matrix, (Floats{0, 1, 2, 0, 0, 3, 4, 0, 0, 1, 2, 0}));
}

TEST(AddGradients, ReadsColumnsOfAMatrix) {
  const Indices inverse{1, 0, 1};
  const Floats matrix{9, 1, 2, 9, 10, 20, 9, 100, 200};
  Floats sums(4);
  AddGradients(inverse,
               StridedSpan<const float>::Columns(matrix, 3, 3, /*column=*/1, 2),
               2, sums);
  EXPECT_EQ(sums, (Floats{10, 20, 101, 202}));
}

TEST(AddGradients, AddsToWhatIsThere) {
  const Indices inverse{1, 0, 1};
  const Floats gradients{1, 2, 10, 20, 100, 200};
  Floats sums{0.5, 0.5, 0.25, 0.25};
  AddGradients(inverse, gradients, 2, sums);
  EXPECT_EQ(sums, (Floats{10.5, 20.5, 101.25, 202.25}));
}

}  // namespace
}  // namespace persia
