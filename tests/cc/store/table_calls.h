// Calls of a table, with few arguments.

#ifndef PERSIA_TESTS_CC_STORE_TABLE_CALLS_H_
#define PERSIA_TESTS_CC_STORE_TABLE_CALLS_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "cc/store/id_groups.h"
#include "cc/store/table.h"

namespace persia {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

inline std::shared_ptr<Table> TableOf(const TableConfig& config,
                                      SecondsClock seconds = nullptr,
                                      uint32_t slots = kSlots) {
  auto table = MakeTable(config, std::move(seconds), nullptr, slots);
  EXPECT_TRUE(table.ok()) << table.status().message();
  return std::move(*table);
}

inline Floats Look(Table* table, const Ids& ids, bool read_only = false) {
  Floats rows(ids.size() * table->config().dim, -77.0f);
  table->Lookup(ids, read_only, rows);
  return rows;
}

inline Floats Peek(Table* table, const Ids& ids,
                   AbsentRows absent = AbsentRows::kDefault) {
  Floats rows(ids.size() * table->config().dim, -77.0f);
  table->Lookup(ids, /*read_only=*/true, rows, /*changes=*/nullptr, absent);
  return rows;
}

inline Ids Range(int64_t begin, int64_t end) {
  Ids ids(static_cast<size_t>(end - begin));
  std::iota(ids.begin(), ids.end(), begin);
  return ids;
}

struct TableRow {
  Floats weights;
  Floats state;

  friend bool operator==(const TableRow& a, const TableRow& b) {
    return a.weights == b.weights && a.state == b.state;
  }
};

// Adds a page to `rows`. Fails if the page's parts have different lengths, or
// if a row is there already.
inline void AddPage(const Table& table, const RowPage& page,
                    std::map<int64_t, TableRow>* rows) {
  const size_t dim = table.config().dim;
  const size_t state_size = table.state_size();
  ASSERT_EQ(page.weights.size(), page.ids.size() * dim);
  ASSERT_EQ(page.state.size(), page.ids.size() * state_size);
  for (size_t i = 0; i < page.ids.size(); ++i) {
    const float* weights = page.weights.data() + i * dim;
    const float* state = page.state.data() + i * state_size;
    const TableRow row = {{weights, weights + dim},
                          {state, state + state_size}};
    EXPECT_TRUE(rows->emplace(page.ids[i], row).second)
        << page.ids[i] << " was exported twice";
  }
}

// All rows, from pages of about `max_rows`.
inline std::map<int64_t, TableRow> ExportAll(const Table& table,
                                             size_t max_rows = 1000) {
  std::map<int64_t, TableRow> rows;
  RowPage page;
  uint64_t cursor = Table::kBegin;
  while (cursor != Table::kEnd) {
    cursor = table.Export(cursor, max_rows, &page);
    AddPage(table, page, &rows);
  }
  return rows;
}

inline Ids ExportedIds(const Table& table) {
  Ids ids;
  for (const auto& [id, row] : ExportAll(table)) ids.push_back(id);
  return ids;
}

// The first `count` ids of a sub-shard, beginning the search at `begin`.
inline Ids IdsOfSubShard(size_t sub_shard, size_t count, int64_t begin = 0) {
  Ids ids;
  for (int64_t id = begin; ids.size() < count; ++id) {
    if (SubShardOf(id) == sub_shard) ids.push_back(id);
  }
  return ids;
}

// Changes 50 random ids below 4000: removes, creates, sets or trains them.
inline void ChangeAny(Table* table, std::mt19937_64* random) {
  Ids ids;
  for (int i = 0; i < 50; ++i) {
    ids.push_back(static_cast<int64_t>((*random)() % 4000));
  }
  const size_t floats = ids.size() * table->config().dim;
  switch ((*random)() % 4) {
    case 0:
      table->Remove(ids);
      break;
    case 1:
      Look(table, ids);
      break;
    case 2:
      table->Assign(ids, Floats(floats, 3.0f), {});
      break;
    default:
      table->Update(ids, Floats(floats, 0.5f), 0.1f);
  }
}

// Runs work(0) to work(3) in four threads at once.
template <typename Work>
void RunInThreads(const Work& work) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(work, t);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace persia

#endif  // PERSIA_TESTS_CC_STORE_TABLE_CALLS_H_
