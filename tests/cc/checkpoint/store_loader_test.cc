#include "cc/checkpoint/store_loader.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/cc/checkpoint/checkpoint_calls.h"
#include "tests/cc/support/shard_of.h"

namespace persia {
namespace {

using Rows = std::map<int64_t, TableRow>;

TableConfig Config(const std::string& name = "t",
                   const std::string& optimizer = "adagrad") {
  return MakeConfig(name, 4, "uniform", optimizer);
}

// Fills the store of shard `index` of `count` with its part of some rows.
void Fill(const TableConfig& config, uint32_t index, uint32_t count,
          Store* store) {
  ASSERT_TRUE(store->CreateTable(config).ok());
  Table* const table = *store->Find(HashName(config.name));
  Ids own;
  for (const int64_t id : Range(0, 4000)) {
    if (ShardOf(id * 7919, count) == index) own.push_back(id * 7919);
  }
  Look(table, own);
  table->Update(own, Floats(own.size() * 4, 0.25f), 0.1f);
}

class StoreLoaderTest : public ::testing::Test {
 protected:
  // Saves `count` shards; returns all their rows.
  Rows SaveShards(const TableConfig& config, uint32_t count) {
    Rows rows;
    paths_.clear();
    for (uint32_t shard = 0; shard < count; ++shard) {
      Store store;
      Fill(config, shard, count, &store);
      paths_.push_back(folder_ / std::to_string(shard));
      EXPECT_TRUE(
          Save(store, HeaderOf(9, 0, shard, count), paths_.back()).ok());
      rows.merge(ExportAll(*store.All()[0]));
    }
    return rows;
  }

  // Loads the rows of one shard of `count`.
  Rows LoadShard(const Store& store, uint32_t shard, uint32_t count) {
    StoreLoader loader(&store, HeaderOf(9, 0, shard, count));
    const Status status = Load(paths_, &loader);
    EXPECT_TRUE(status.ok()) << status.message();
    tables_ = loader.TakeTables();
    EXPECT_EQ(tables_.size(), 1u);
    return ExportAll(*tables_.begin()->second);
  }

  Rows LoadShards(uint32_t count) {
    const Store empty;
    Rows rows;
    for (uint32_t shard = 0; shard < count; ++shard) {
      Rows part = LoadShard(empty, shard, count);
      for (const auto& [id, row] : part) EXPECT_EQ(ShardOf(id, count), shard);
      rows.merge(part);
      EXPECT_TRUE(part.empty()) << "a row is on two shards";
    }
    return rows;
  }

  // Loads into a table with other settings.
  Rows LoadInto(const TableConfig& config) {
    Store store;
    EXPECT_TRUE(store.CreateTable(config).ok());
    return LoadShard(store, 0, 1);
  }

  const TemporaryFolder folder_;
  std::vector<std::string> paths_;
  Store::Tables tables_;
};

TEST_F(StoreLoaderTest, LoadsAnyNumberOfShardsIntoAnyOther) {
  for (const uint32_t from : {1, 2, 3, 8}) {
    const Rows saved = SaveShards(Config(), from);
    ASSERT_EQ(saved.size(), 4000u);
    for (const uint32_t to : {1, 2, 3, 8}) {
      EXPECT_EQ(LoadShards(to), saved) << from << " onto " << to;
    }
  }
}

TEST_F(StoreLoaderTest, ATableThatIsNotThereGetsTheCheckpointsSettings) {
  SaveShards(Config("t", "adam(beta_1=0.5)"), 2);
  LoadShards(3);
  const TableConfig& made = tables_.begin()->second->config();
  EXPECT_EQ(made.optimizer, SpecOf("adam(beta_1=0.5)"));
  EXPECT_EQ(tables_.begin()->second->share(), SlotsOfShard(2, 3).count());
}

// Shards whose slots are neither even nor neighbors.
TEST_F(StoreLoaderTest, EachShardGetsExactlyTheRowsOfItsSlots) {
  const Rows saved = SaveShards(Config(), 3);
  SlotSet few, odd;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    (slot % 10 == 0 ? few : odd)[slot] = slot % 2 == 1 || slot % 10 == 0;
  }
  const Store empty;
  Rows all;
  for (const SlotSet& slots : {few, odd, ~(few | odd), SlotSet()}) {
    StoreLoader loader(&empty, {9, 0, 7, slots});
    ASSERT_TRUE(Load(paths_, &loader).ok());
    EXPECT_TRUE(loader.TakeClients().empty());
    const Store::Tables tables = loader.TakeTables();
    const Table& table = *tables.begin()->second;
    EXPECT_EQ(table.share(), slots.count());
    Rows part = ExportAll(table);
    EXPECT_EQ(part.empty(), slots.none());
    for (const auto& [id, row] : part) EXPECT_TRUE(slots[SlotOf(id)]) << id;
    all.merge(part);
    EXPECT_TRUE(part.empty()) << "a row is on two shards";
  }
  EXPECT_EQ(all, saved);
}

TEST_F(StoreLoaderTest, ALogBaseMayExceedTheCapacity) {
  TableConfig config = Config();
  config.eviction = SpecOf("lru");
  config.capacity = SpecOf("rows(count=5000)");
  SaveShards(config, 1);
  // The shard lost half of its slots, and has yet to evict rows.
  ShardHeader own = HeaderOf(9, 0, 0, 2);
  const Store empty;
  StoreLoader loader(&empty, own);
  loader.TakeAllRows();
  ShardProgress progress;
  ASSERT_TRUE(ReadShard(LocalFiles(), paths_[0], &loader, &progress).ok());
  const Store::Tables tables = loader.TakeTables();
  Table* const table = tables.begin()->second.get();
  EXPECT_EQ(table->Stats().rows, 4000u);
  table->SetEvicts(true);
  Look(table, {1});
  EXPECT_EQ(table->Stats().rows, 2500u);
}

TEST_F(StoreLoaderTest, RowsMayBeHeldOtherwise) {
  const Rows saved = SaveShards(Config(), 1);
  TableConfig half = Config();
  half.row_dtype = SpecOf("bfloat16");
  const Rows loaded = LoadInto(half);
  ASSERT_EQ(loaded.size(), saved.size());
  for (const auto& [id, row] : saved) {
    const TableRow& rounded = loaded.at(id);
    EXPECT_EQ(rounded.state, row.state);
    for (size_t i = 0; i < row.weights.size(); ++i) {
      EXPECT_NEAR(rounded.weights[i], row.weights[i],
                  std::abs(row.weights[i]) / 256);
    }
  }
}

TEST_F(StoreLoaderTest, AnotherOptimizerBeginsAnew) {
  const Rows saved = SaveShards(Config(), 1);
  const Rows loaded =
      LoadInto(Config("t", "rowwise_adagrad(initial_accumulator_value=0.5)"));
  ASSERT_EQ(loaded.size(), saved.size());
  for (const auto& [id, row] : saved) {
    EXPECT_EQ(loaded.at(id).weights, row.weights);
    EXPECT_EQ(loaded.at(id).state, Floats{0.5f});
  }
}

TEST_F(StoreLoaderTest, ACapacityHolds) {
  SaveShards(Config(), 1);
  TableConfig small = Config();
  small.eviction = SpecOf("lru");
  small.capacity = SpecOf("rows(count=500)");
  EXPECT_LE(LoadInto(small).size(), 500u);
}

TEST_F(StoreLoaderTest, AnotherDimIsRefused) {
  SaveShards(Config(), 1);
  Store store;
  ASSERT_TRUE(store.CreateTable(MakeConfig("t", 5)).ok());
  StoreLoader loader(&store, HeaderOf(9, 0));
  const Status status = Load(paths_, &loader);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find(
                "table \"t\" has output_dim 5, but in the checkpoint it has 4"),
            std::string::npos)
      << status.message();
}

TEST_F(StoreLoaderTest, RowsGrowOldFromWhenTheyWereSaved) {
  TableConfig config = Config();
  config.eviction = SpecOf("ttl(steps=10)");
  Store store;
  ASSERT_TRUE(store.CreateTable(config).ok());
  Table* const table = store.All()[0];
  Look(table, {1});
  for (int step = 0; step < 5; ++step) Look(table, {2});
  paths_ = {folder_ / "shard"};
  ASSERT_TRUE(Save(store, HeaderOf(9, 0), paths_[0]).ok());
  const Store empty;
  LoadShard(empty, 0, 1);
  Table* const loaded = tables_.begin()->second.get();
  for (int step = 0; step < 4; ++step) Look(loaded, {2});
  EXPECT_EQ(ExportedIds(*loaded), (Ids{1, 2}));
  Look(loaded, {2});
  EXPECT_EQ(ExportedIds(*loaded), Ids{2});
}

TEST(StoreReplace, GivesTheTablesThatWere) {
  Store store;
  ASSERT_TRUE(store.CreateTable(MakeConfig("a", 2)).ok());
  ASSERT_TRUE(store.CreateTable(MakeConfig("b", 2)).ok());
  Table* const old_b = store.All()[1];
  Store::Tables tables;
  tables[HashName("b")] = TableOf(MakeConfig("b", 3));
  tables[HashName("c")] = TableOf(MakeConfig("c", 4));
  store.Replace(&tables);
  EXPECT_EQ(tables[HashName("b")].get(), old_b);
  EXPECT_EQ(tables[HashName("c")], nullptr);
  ASSERT_EQ(store.All().size(), 3u);
  EXPECT_EQ(store.All()[1]->config().dim, 3u);
}

}  // namespace
}  // namespace persia
