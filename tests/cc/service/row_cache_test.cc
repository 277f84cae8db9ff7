#include "cc/service/row_cache.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace persia {
namespace {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

constexpr uint32_t kDim = 2;

// The row that tests keep for an id: {id, id + 0.5}.
Floats RowsOf(const Ids& ids) {
  Floats rows;
  for (const int64_t id : ids) {
    rows.push_back(static_cast<float>(id));
    rows.push_back(static_cast<float>(id) + 0.5f);
  }
  return rows;
}

Ids Range(int64_t begin, int64_t end) {
  Ids ids(static_cast<size_t>(end - begin));
  std::iota(ids.begin(), ids.end(), begin);
  return ids;
}

void Insert(RowCache* cache, const Ids& ids, uint64_t epoch = 0) {
  cache->Insert(ids, RowsOf(ids), epoch);
}

// Returns the ids that are found; expects their rows to be right.
Ids Found(RowCache* cache, const Ids& ids, uint64_t since = 0) {
  Floats rows(ids.size() * kDim, -77.0f);
  std::vector<uint32_t> missing;
  cache->Find(ids, since, rows, &missing);
  std::sort(missing.begin(), missing.end());
  EXPECT_EQ(std::unique(missing.begin(), missing.end()), missing.end());
  Ids found;
  for (uint32_t i = 0; i < ids.size(); ++i) {
    if (std::binary_search(missing.begin(), missing.end(), i)) {
      EXPECT_EQ(rows[i * kDim], -77.0f);
      continue;
    }
    found.push_back(ids[i]);
    EXPECT_EQ(Floats(&rows[i * kDim], &rows[i * kDim] + kDim),
              RowsOf({ids[i]}));
  }
  return found;
}

TEST(RowCache, FindsWhatItKeeps) {
  RowCache cache(kDim, 10);
  EXPECT_EQ(Found(&cache, {1, 2}), Ids{});
  Insert(&cache, {1, -3});
  EXPECT_EQ(Found(&cache, {-3, 2, 1, 1}), (Ids{-3, 1, 1}));
}

TEST(RowCache, KeepsManyRowsInAllItsParts) {
  constexpr int64_t kRows = 20000;
  RowCache cache(kDim, 4 * kRows);
  const Ids ids = Range(-kRows / 2, kRows / 2);
  Insert(&cache, ids);
  EXPECT_EQ(Found(&cache, ids), ids);
  EXPECT_EQ(cache.stats().rows, static_cast<uint64_t>(kRows));
}

TEST(RowCache, ChangesReplaceRowsThatItHas) {
  RowCache cache(1, 10);
  cache.Insert(Ids{1, 2}, Floats{1, 2}, 4);
  cache.Refresh(Ids{2, 3}, Floats{7, 8}, 5);
  Floats rows(3);
  std::vector<uint32_t> missing;
  cache.Find(Ids{1, 2, 3}, 0, rows, &missing);
  EXPECT_EQ(missing, std::vector<uint32_t>{2});
  EXPECT_EQ(rows, (Floats{1, 7, 0}));
}

TEST(RowCache, WhatIsErasedIsNotFoundUntilItIsInsertedAnew) {
  RowCache cache(kDim, 10);
  Insert(&cache, {1, 2}, 4);
  cache.Erase(Ids{1, 3}, 5);
  EXPECT_EQ(Found(&cache, {1, 2}, 1), Ids{2});
  Insert(&cache, {1}, 6);
  EXPECT_EQ(Found(&cache, {1, 2}, 1), (Ids{1, 2}));
}

TEST(RowCache, ARowFromBeforeItsChangeIsNotKept) {
  RowCache cache(kDim, 10);
  cache.Refresh(Ids{1}, RowsOf({1}), 5);
  cache.Erase(Ids{2}, 5);
  Insert(&cache, {1, 2}, 4);
  Insert(&cache, {1, 2}, 5);  // Of the same epoch: which is newer is not known.
  EXPECT_EQ(Found(&cache, {1, 2}), Ids{});
  Insert(&cache, {1, 2}, 6);
  EXPECT_EQ(Found(&cache, {1, 2}), (Ids{1, 2}));
}

TEST(RowCache, FindsNothingThatIsTooOld) {
  RowCache cache(kDim, 10);
  Insert(&cache, {1}, 4);
  Insert(&cache, {2}, 5);
  EXPECT_EQ(Found(&cache, {1, 2}, 4), (Ids{1, 2}));
  EXPECT_EQ(Found(&cache, {1, 2}, 5), Ids{2});
  EXPECT_EQ(Found(&cache, {1, 2}, 6), Ids{});
}

TEST(RowCache, KeepsTheNewerOfTwoCopies) {
  RowCache cache(kDim, 10);
  const Ids ids = {1};
  cache.Insert(ids, Floats{0, 0}, 4);
  Insert(&cache, ids, 5);
  cache.Insert(ids, Floats{0, 0}, 4);  // Asked for earlier, arrived later.
  EXPECT_EQ(Found(&cache, ids, 5), ids);
  EXPECT_EQ(cache.stats().rows, 1u);
}

TEST(RowCache, WhatIsInvalidIsNotFoundEvenIfItComesLater) {
  RowCache cache(kDim, 10);
  Insert(&cache, {1}, 4);
  cache.Invalidate(5);
  cache.Invalidate(3);  // An earlier epoch: changes nothing.
  Insert(&cache, {2}, 4);
  Insert(&cache, {3}, 5);
  EXPECT_EQ(Found(&cache, {1, 2, 3}), Ids{3});
}

TEST(RowCache, IsBounded) {
  for (const uint64_t capacity : {1, 7, 5000}) {
    RowCache cache(kDim, capacity);
    for (int64_t begin = 0; begin < 20000; begin += 1000) {
      Insert(&cache, Range(begin, begin + 1000));
      EXPECT_LE(cache.stats().rows, capacity);
    }
    const RowCacheStats stats = cache.stats();
    EXPECT_EQ(stats.rows + stats.evictions, 20000u);
    // Parts fill unevenly, but nearly all.
    EXPECT_GE(stats.rows, capacity * 95 / 100);
    EXPECT_EQ(Found(&cache, Range(0, 20000)).size(), stats.rows);
  }
}

TEST(RowCache, WhatIsFoundOutlivesWhatIsNot) {
  RowCache cache(kDim, 4);
  Insert(&cache, {1, 2, 3, 4});
  for (int64_t id = 10; id < 30; ++id) {
    EXPECT_EQ(Found(&cache, {1, 3}), (Ids{1, 3})) << id;
    Insert(&cache, {id});
  }
}

TEST(RowCache, WhatWasHotOnceLeavesInTheEnd) {
  RowCache cache(kDim, 4);
  Insert(&cache, {1, 2, 3, 4});
  Found(&cache, {1, 2, 3, 4});
  Insert(&cache, {5, 6, 7, 8});
  EXPECT_EQ(Found(&cache, {5, 6, 7, 8}), (Ids{5, 6, 7, 8}));
}

TEST(RowCache, CountsHitsAndMisses) {
  RowCache cache(kDim, 10);
  Insert(&cache, {1, 2}, 3);
  Found(&cache, {1, 2, 9});
  Found(&cache, {1, 2}, 4);
  const RowCacheStats stats = cache.stats();
  EXPECT_EQ(stats.hits, 2u);
  EXPECT_EQ(stats.misses, 3u);
}

TEST(RowCache, CountsItsBytes) {
  RowCache cache(kDim, 1000);
  const uint64_t empty = cache.stats().bytes;
  Insert(&cache, Range(0, 1000));
  const uint64_t full = cache.stats().bytes - empty;
  EXPECT_GE(full, 1000 * (kDim * sizeof(float) + sizeof(int64_t)));
  EXPECT_LE(full, 1000 * 256u);
}

TEST(RowCache, VisitsWhatItFinds) {
  RowCache cache(kDim, 20000);  // In many parts.
  Insert(&cache, Range(0, 1000), 5);
  const Ids erased = {3, 4};
  cache.Erase(erased, 6);
  Ids visited;
  cache.ForEach([&](int64_t id, const float* weights) {
    EXPECT_EQ(Floats(weights, weights + kDim), RowsOf({id}));
    visited.push_back(id);
  });
  std::sort(visited.begin(), visited.end());
  EXPECT_EQ(visited, Found(&cache, Range(0, 1000), 1));
  EXPECT_EQ(visited.size(), 998u);
  cache.Invalidate(6);
  cache.ForEach([](int64_t id, const float*) { ADD_FAILURE() << id; });
}

TEST(RowCache, TellsItsSettings) {
  const RowCache cache(kDim, 10);
  EXPECT_EQ(cache.dim(), kDim);
  EXPECT_EQ(cache.capacity(), 10u);
}

}  // namespace
}  // namespace persia
