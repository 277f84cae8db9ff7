#include "cc/store/row_slab.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>
#include <vector>

namespace persia {
namespace {

constexpr size_t kRowSizes[] = {4, 12, 68, 128, 4096, 4100, 300000};

// About as many rows as fit into `bytes`.
size_t RowsIn(size_t bytes, size_t row_bytes) {
  return std::max<size_t>(40, bytes / row_bytes);
}

// Fills a row with 32-bit words that no other row has.
void Mark(const RowSlab& slab, RowSlab::Row row, size_t row_bytes,
          uint32_t mark) {
  for (size_t at = 0; at < row_bytes; at += 4) {
    const uint32_t word = mark * 2654435761u + static_cast<uint32_t>(at);
    std::memcpy(slab.at(row) + at, &word, 4);
  }
}

bool HasMark(const RowSlab& slab, RowSlab::Row row, size_t row_bytes,
             uint32_t mark) {
  for (size_t at = 0; at < row_bytes; at += 4) {
    const uint32_t word = mark * 2654435761u + static_cast<uint32_t>(at);
    if (std::memcmp(slab.at(row) + at, &word, 4) != 0) return false;
  }
  return true;
}

TEST(RowSlab, KeepsRowsWhileItGrows) {
  for (const size_t row_bytes : kRowSizes) {
    RowSlab slab(row_bytes);
    std::vector<RowSlab::Row> rows;
    const size_t count = RowsIn(300000, row_bytes);
    for (size_t i = 0; i < count; ++i) {
      rows.push_back(slab.Allocate());
      Mark(slab, rows[i], row_bytes, static_cast<uint32_t>(i));
    }
    for (size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(HasMark(slab, rows[i], row_bytes, static_cast<uint32_t>(i)))
          << "row " << i << " of " << row_bytes << " bytes";
    }
  }
}

TEST(RowSlab, GivesEachRowItsOwnNumber) {
  for (const size_t row_bytes : kRowSizes) {
    RowSlab slab(row_bytes);
    std::set<RowSlab::Row> rows;
    const size_t count = RowsIn(300000, row_bytes);
    for (size_t i = 0; i < count; ++i) rows.insert(slab.Allocate());
    EXPECT_EQ(rows.size(), count);
  }
}

TEST(RowSlab, AlignsRowsForFloats) {
  for (const size_t row_bytes : kRowSizes) {
    RowSlab slab(row_bytes);
    for (int i = 0; i < 100; ++i) {
      const std::byte* row = slab.at(slab.Allocate());
      ASSERT_EQ(reinterpret_cast<uintptr_t>(row) % sizeof(float), 0u);
    }
  }
}

TEST(RowSlab, ReusesFreedRows) {
  for (const size_t row_bytes : kRowSizes) {
    RowSlab slab(row_bytes);
    const size_t count = RowsIn(200000, row_bytes);
    std::vector<RowSlab::Row> rows;
    for (size_t i = 0; i < count; ++i) rows.push_back(slab.Allocate());
    const std::set<RowSlab::Row> before(rows.begin(), rows.end());
    for (const RowSlab::Row row : rows) slab.Free(row);
    const size_t bytes = slab.bytes();
    std::set<RowSlab::Row> after;
    for (size_t i = 0; i < count; ++i) after.insert(slab.Allocate());
    EXPECT_EQ(after, before) << row_bytes;
    EXPECT_EQ(slab.bytes(), bytes) << row_bytes;
  }
}

TEST(RowSlab, KeepsRowsWhileOthersComeAndGo) {
  for (const size_t row_bytes : {12, 68, 4100}) {
    RowSlab slab(row_bytes);
    std::mt19937 random(7);
    std::vector<std::pair<RowSlab::Row, uint32_t>> held;
    for (uint32_t mark = 0; mark < 5000; ++mark) {
      if (random() % 3 == 0 && !held.empty()) {
        std::swap(held[random() % held.size()], held.back());
        const auto [row, its_mark] = held.back();
        ASSERT_TRUE(HasMark(slab, row, row_bytes, its_mark));
        slab.Free(row);
        held.pop_back();
      } else {
        held.emplace_back(slab.Allocate(), mark);
        Mark(slab, held.back().first, row_bytes, mark);
      }
    }
    for (const auto& [row, mark] : held) {
      ASSERT_TRUE(HasMark(slab, row, row_bytes, mark));
    }
  }
}

TEST(RowSlab, TakesNoMemoryWithoutRows) {
  EXPECT_EQ(RowSlab(300000).bytes(), 0u);
}

TEST(RowSlab, TakesLittleForAFewRows) {
  for (const size_t row_bytes : kRowSizes) {
    RowSlab slab(row_bytes);
    slab.Allocate();
    EXPECT_GE(slab.bytes(), row_bytes);
    EXPECT_LE(slab.bytes(), 4 * row_bytes);
  }
}

TEST(RowSlab, WastesLittleOfManyRows) {
  for (const size_t row_bytes : kRowSizes) {
    RowSlab slab(row_bytes);
    const size_t count = RowsIn(3 << 20, row_bytes);
    for (size_t i = 0; i < count; ++i) slab.Allocate();
    EXPECT_GE(slab.bytes(), count * row_bytes);
    EXPECT_LE(static_cast<double>(slab.bytes()),
              1.3 * static_cast<double>(count * row_bytes))
        << row_bytes;
  }
}

}  // namespace
}  // namespace persia
