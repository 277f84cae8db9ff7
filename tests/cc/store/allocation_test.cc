// In steady work nothing is allocated per row or per id, and what small tables
// allocate is counted. A global operator new counts allocations; sanitizers
// have an operator new of their own.

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

#include <gtest/gtest.h>
#include <malloc.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <vector>

#include "cc/base/memory_meter.h"
#include "cc/store/table.h"
#include "tests/cc/store/make_config.h"

namespace {

thread_local size_t allocations = 0;
thread_local size_t held_bytes = 0;

// Includes the word that malloc keeps in front of the memory.
size_t BytesOf(void* memory) {
  return memory == nullptr ? 0 : malloc_usable_size(memory) + sizeof(size_t);
}

void* Counted(void* memory) {
  ++allocations;
  held_bytes += BytesOf(memory);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void Free(void* memory) {
  held_bytes -= BytesOf(memory);
  std::free(memory);
}

}  // namespace

void* operator new(size_t size) { return Counted(std::malloc(size)); }
void* operator new(size_t size, std::align_val_t alignment) {
  const auto to = static_cast<size_t>(alignment);
  return Counted(std::aligned_alloc(to, (size + to - 1) / to * to));
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  Free(memory);
}

namespace persia {
namespace {

constexpr uint32_t kDim = 8;

std::vector<int64_t> Ids(int64_t first, size_t count) {
  std::vector<int64_t> ids(count);
  std::iota(ids.begin(), ids.end(), first);
  return ids;
}

// Allocations of lookups and updates of ids that have rows, after the first
// round.
size_t SteadyAllocations(const TableConfig& config) {
  const auto table = std::move(MakeTable(config).value());
  const std::vector<int64_t> ids = Ids(0, 3000);
  std::vector<float> rows(ids.size() * kDim, 0.5f);
  size_t before = 0;
  for (int round = 0; round < 4; ++round) {
    if (round == 1) before = allocations;
    table->Lookup(ids, /*read_only=*/false, rows);
    table->Update(ids, rows, 0.1f);
    table->Lookup(ids, /*read_only=*/true, rows);
  }
  return allocations - before;
}

TEST(Allocations, AreCounted) {
  const size_t before = allocations;
  const std::vector<int64_t> ids = Ids(0, 10);
  EXPECT_EQ(allocations, before + 1) << ids.size();
}

TEST(Allocations, AreNoneInSteadyWork) {
  for (const char* optimizer :
       {"sgd", "adagrad", "adam(clipnorm=1,weight_bound=9)"}) {
    EXPECT_EQ(SteadyAllocations(MakeConfig("t", kDim, "uniform", optimizer)),
              0u)
        << optimizer;
  }
}

TEST(Allocations, AreNoneWhereWeightsAreEncoded) {
  for (const char* row_dtype : {"bfloat16", "float16", "int8"}) {
    TableConfig config = MakeConfig("t", kDim, "uniform", "adagrad");
    config.row_dtype = Spec::Parse(row_dtype).value();
    EXPECT_EQ(SteadyAllocations(config), 0u) << row_dtype;
  }
}

// Far fewer allocations than rows: of chunks of rows, and of segments of the
// index.
TEST(Allocations, AreFewWhereRowsAreCreated) {
  const auto table =
      std::move(MakeTable(MakeConfig("t", kDim, "uniform", "sgd")).value());
  constexpr size_t kRows = 200000;
  const std::vector<int64_t> ids = Ids(0, kRows);
  std::vector<float> rows(ids.size() * kDim);
  const size_t before = allocations;
  table->Lookup(ids, /*read_only=*/false, rows);
  EXPECT_LT(allocations - before, kRows / 50);
}

// So the limit of all tables' memory bounds what the process takes, also if
// there are many tables without rows.
TEST(Allocations, OfSmallTablesAreCountedByTheMeter) {
  constexpr int kTables = 20;
  for (const char* admission : {"always", "min_count(count=2)"}) {
    TableConfig config = MakeConfig("t", kDim, "uniform", "adagrad");
    config.admission = Spec::Parse(admission).value();
    const auto meter = std::make_shared<MemoryMeter>();
    std::vector<std::shared_ptr<Table>> tables;
    const size_t before = held_bytes;
    for (int t = 0; t < kTables; ++t) {
      tables.push_back(std::move(*MakeTable(config, nullptr, meter)));
    }
    for (const size_t count : {0, 1, 100, 1000}) {
      uint64_t shown = 0;
      for (const auto& table : tables) {
        const std::vector<int64_t> ids = Ids(0, count);
        std::vector<float> rows(count * kDim);
        for (int seen = 0; seen < 2; ++seen) table->Lookup(ids, false, rows);
        shown += table->Stats().bytes;
      }
      const auto held = static_cast<double>(held_bytes - before);
      EXPECT_NEAR(static_cast<double>(meter->used()), held, 0.15 * held)
          << admission << ", " << count << " rows";
      EXPECT_NEAR(static_cast<double>(shown), held, 0.15 * held)
          << admission << ", " << count << " rows";
    }
  }
}

}  // namespace
}  // namespace persia

#endif
