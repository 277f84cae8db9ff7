// The changes that a table reports suffice to follow which rows came and left.

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "tests/cc/store/make_config.h"
#include "tests/cc/store/table_calls.h"

namespace persia {
namespace {

constexpr uint32_t kDim = 4;

// Some ids below `end`, none twice.
Ids SomeIds(std::mt19937* random, int64_t end) {
  Ids ids;
  for (int64_t id = 0; id < end; ++id) {
    if ((*random)() % 4 == 0) ids.push_back(id);
  }
  return ids;
}

// A training lookup by a caller that must know of all changes.
Floats TrainingLookup(Table* table, const Ids& ids, RowChanges* changes) {
  Floats rows(ids.size() * kDim);
  std::vector<uint32_t> absent;
  table->LookupPresent(ids, rows, &absent);
  Ids missing;
  for (const uint32_t place : absent) missing.push_back(ids[place]);
  Floats made(missing.size() * kDim);
  table->Lookup(missing, false, made, changes);
  for (size_t i = 0; i < absent.size(); ++i) {
    std::copy_n(made.begin() + static_cast<ptrdiff_t>(i * kDim), kDim,
                rows.begin() + static_cast<ptrdiff_t>(absent[i] * kDim));
  }
  return rows;
}

void Follow(Table* table, const RowChanges& changes) {
  for (const auto& [id, created] : changes) {
    if (created) {
      table->Create(Ids{id});
    } else {
      EXPECT_EQ(table->Remove(Ids{id}), 1u) << id;
    }
  }
}

// All rows, also those whose time is over: weights and state, without the times
// of use.
std::map<int64_t, std::string> AllRows(Table* table) {
  RawRows raw;
  const auto frozen = table->Freeze();
  while (*(*frozen)->Read(100, &raw)) {
  }
  const RowLayout layout = table->layout();
  std::map<int64_t, std::string> rows;
  for (size_t i = 0; i < raw.ids.size(); ++i) {
    const auto* row =
        reinterpret_cast<const char*>(raw.bytes.data()) + i * layout.row_bytes;
    rows[raw.ids[i]] =
        std::string(row, layout.use_offset) +
        std::string(row + layout.state_offset, row + layout.row_bytes);
  }
  return rows;
}

class TableChanges : public ::testing::TestWithParam<TableConfig> {};

TEST_P(TableChanges, LeadToTheSameRows) {
  const auto leader = TableOf(GetParam());
  const auto follower = TableOf(GetParam());
  follower->SetEvicts(false);
  std::mt19937 random(1);
  for (int step = 0; step < 60; ++step) {
    RowChanges changes;
    const Ids ids = SomeIds(&random, 200 + step);
    TrainingLookup(leader.get(), ids, &changes);
    Follow(follower.get(), changes);
    const Floats gradients(ids.size() * kDim, 0.1f * (step % 7) - 0.3f);
    leader->Update(ids, gradients, 0.1f);
    follower->Update(ids, gradients, 0.1f);
    if (step % 5 == 0) {
      const Ids some = SomeIds(&random, 300);
      const Floats weights(some.size() * kDim, static_cast<float>(step));
      RowChanges left;
      leader->Assign(some, weights, {}, &left);
      follower->Assign(some, weights, {});
      Follow(follower.get(), left);
    }
  }
  EXPECT_EQ(AllRows(leader.get()), AllRows(follower.get()));
  EXPECT_GT(AllRows(leader.get()).size(), 50u);
}

TableConfig With(const std::string& dtype, const std::string& admission,
                 const std::string& capacity = "unlimited",
                 const std::string& eviction = "never") {
  TableConfig config = MakeConfig("t", kDim, "uniform", "adagrad");
  config.row_dtype = SpecOf(dtype);
  config.admission = SpecOf(admission);
  config.capacity = SpecOf(capacity);
  config.eviction = SpecOf(eviction);
  return config;
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, TableChanges,
    ::testing::Values(
        With("float32", "always"), With("float16", "always"),
        With("float32", "min_count(count=2)"),
        With("float32", "always", "rows(count=100)", "lru"),
        With("float16", "min_count(count=2)", "rows(count=90)", "lfu"),
        With("float32", "always", "unlimited", "ttl(steps=3)"),
        With("float32", "always", "rows(count=120)", "ttl(steps=9)")));

TEST(TableRounding, GoesOnWhereItWas) {
  const TableConfig config = With("float16", "always");
  const auto whole = TableOf(config);
  const auto parts = TableOf(config);
  const Ids ids = Range(0, 500);
  const Floats gradients(ids.size() * kDim, 0.01f);
  for (Table* table : {whole.get(), parts.get()}) {
    Look(table, ids);
    table->Update(ids, gradients, 0.1f);
  }
  RawRows rows;
  ASSERT_TRUE((*parts->Freeze())->Read(1000, &rows).ok());
  const auto loaded = TableOf(config);
  loaded->Restore(rows);
  const auto careless = TableOf(config);
  careless->Restore(rows);
  loaded->SetRounded(parts->Rounded());
  for (Table* table : {whole.get(), loaded.get(), careless.get()}) {
    table->Update(ids, gradients, 0.1f);
  }
  EXPECT_EQ(ExportAll(*loaded), ExportAll(*whole));
  EXPECT_NE(ExportAll(*careless), ExportAll(*whole));
}

}  // namespace
}  // namespace persia
