#include "cc/store/block_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

namespace persia {
namespace {

constexpr size_t kPageBlocks = (size_t{2} << 20) / BlockPool::kBlockBytes;

// Writes to each small page of a block, and to its ends.
void Mark(void* block, uint64_t mark) {
  auto* bytes = static_cast<std::byte*>(block);
  for (size_t at = 0; at < BlockPool::kBlockBytes; at += 4096) {
    std::memcpy(bytes + at, &mark, sizeof(mark));
  }
  std::memcpy(bytes + BlockPool::kBlockBytes - sizeof(mark), &mark,
              sizeof(mark));
}

bool HasMark(const void* block, uint64_t mark) {
  const auto* bytes = static_cast<const std::byte*>(block);
  bool has = true;
  for (size_t at = 0; at < BlockPool::kBlockBytes; at += 4096) {
    has = has && std::memcmp(bytes + at, &mark, sizeof(mark)) == 0;
  }
  return has && std::memcmp(bytes + BlockPool::kBlockBytes - sizeof(mark),
                            &mark, sizeof(mark)) == 0;
}

TEST(BlockPool, AlignsBlocks) {
  BlockPool pool;
  for (size_t i = 0; i < 3 * kPageBlocks; ++i) {
    ASSERT_EQ(
        reinterpret_cast<uintptr_t>(pool.Allocate()) % BlockPool::kBlockBytes,
        0u);
  }
}

TEST(BlockPool, HasBlocksOfItsSizesOnly) {
  EXPECT_TRUE(BlockPool::HasSize(40 << 10));
  EXPECT_TRUE(BlockPool::HasSize(48 << 10));
  EXPECT_TRUE(BlockPool::HasSize(64 << 10));
  EXPECT_FALSE(BlockPool::HasSize(56 << 10));
}

// Blocks of other sizes come and go in between.
TEST(BlockPool, BlocksOfAllSizesDoNotOverlap) {
  BlockPool pool;
  std::mt19937_64 random(5);
  std::map<std::byte*, size_t> held;
  for (int i = 0; i < 20000; ++i) {
    if (held.size() > 500 && random() % 2 == 0) {
      const auto any = std::next(
          held.begin(), static_cast<ptrdiff_t>(random() % held.size()));
      pool.Free(any->first);
      held.erase(any);
      continue;
    }
    const size_t bytes = BlockPool::kSizes[random() % 3];
    auto* const block = static_cast<std::byte*>(pool.Allocate(bytes));
    const auto after = held.upper_bound(block);
    if (after != held.end()) {
      ASSERT_LE(block + bytes, after->first);
    }
    if (after != held.begin()) {
      const auto& [start, size] = *std::prev(after);
      ASSERT_LE(start + size, block);
    }
    held[block] = bytes;
  }
  for (const auto& [block, bytes] : held) pool.Free(block);
}

TEST(BlockPool, GivesEveryBlockOnce) {
  BlockPool pool;
  std::set<void*> blocks;
  constexpr size_t kBlocks = 40 * kPageBlocks;  // Of more than one region.
  for (size_t i = 0; i < kBlocks; ++i) blocks.insert(pool.Allocate());
  EXPECT_EQ(blocks.size(), kBlocks);
  EXPECT_GE(pool.pages(), 40u);
}

TEST(BlockPool, BlocksDoNotOverlap) {
  BlockPool pool;
  std::vector<void*> blocks;
  for (uint64_t i = 0; i < 5 * kPageBlocks; ++i) {
    blocks.push_back(pool.Allocate());
    Mark(blocks[i], i);
  }
  for (uint64_t i = 0; i < blocks.size(); ++i) {
    ASSERT_TRUE(HasMark(blocks[i], i)) << i;
  }
}

TEST(BlockPool, ReusesAFreedBlock) {
  BlockPool pool;
  std::vector<void*> blocks;
  for (size_t i = 0; i < kPageBlocks; ++i) blocks.push_back(pool.Allocate());
  pool.Free(blocks[5]);
  EXPECT_EQ(pool.Allocate(), blocks[5]);
}

TEST(BlockPool, FillsPagesThatArePartlyFree) {
  BlockPool pool;
  std::vector<void*> blocks;
  for (size_t i = 0; i < 4 * kPageBlocks; ++i)
    blocks.push_back(pool.Allocate());
  std::set<void*> freed;
  for (size_t i = 0; i < blocks.size(); i += 2) {
    pool.Free(blocks[i]);
    freed.insert(blocks[i]);
  }
  std::set<void*> again;
  for (size_t i = 0; i < freed.size(); ++i) again.insert(pool.Allocate());
  EXPECT_EQ(again, freed);
}

TEST(BlockPool, AFullPageThatIsFreedCanBeWrittenAgain) {
  BlockPool pool;
  for (uint64_t round = 0; round < 20; ++round) {
    std::vector<void*> blocks;
    for (uint64_t i = 0; i < 3 * kPageBlocks; ++i) {
      blocks.push_back(pool.Allocate());
      Mark(blocks[i], round << 32 | i);
    }
    for (uint64_t i = 0; i < blocks.size(); ++i) {
      ASSERT_TRUE(HasMark(blocks[i], round << 32 | i));
      pool.Free(blocks[i]);
    }
  }
}

TEST(BlockPool, KeepsWhatFourThreadsWrite) {
  BlockPool pool;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&pool, t] {
      std::mt19937_64 random(t);
      std::vector<std::pair<void*, uint64_t>> held;
      for (uint64_t i = 0; i < 3000; ++i) {
        if (held.size() > 100 || (!held.empty() && random() % 3 == 0)) {
          std::swap(held[random() % held.size()], held.back());
          ASSERT_TRUE(HasMark(held.back().first, held.back().second));
          pool.Free(held.back().first);
          held.pop_back();
        } else {
          held.emplace_back(pool.Allocate(), t << 32 | i);
          Mark(held.back().first, held.back().second);
        }
      }
      for (const auto& [block, mark] : held) {
        ASSERT_TRUE(HasMark(block, mark));
        pool.Free(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(BlockPool, AThreadMayFreeWhatAnotherAllocated) {
  BlockPool pool;
  std::vector<void*> blocks;
  for (size_t i = 0; i < 2 * kPageBlocks; ++i)
    blocks.push_back(pool.Allocate());
  std::thread([&] {
    for (void* block : blocks) pool.Free(block);
  }).join();
  EXPECT_NE(pool.Allocate(), nullptr);
}

TEST(BlockPool, EndsAtAnyMoment) {
  for (size_t blocks = 0; blocks < 200; blocks += 10) {
    BlockPool pool;
    // Each page that is taken makes the pool's thread prepare another one.
    for (size_t i = 0; i < blocks; ++i) Mark(pool.Allocate(), i);
  }
}

}  // namespace
}  // namespace persia
