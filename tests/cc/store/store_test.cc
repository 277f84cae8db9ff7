#include "cc/store/store.h"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "cc/base/hash.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

void ExpectContains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

// The error of opening `config` where the store has table `held`.
std::string Conflict(const TableConfig& held, const TableConfig& config) {
  Store store;
  EXPECT_TRUE(store.CreateTable(held).ok());
  const Status status = store.CreateTable(config).status();
  EXPECT_EQ(status.code(), Code::kAlreadyExists);
  return status.message();
}

TEST(StoreCreateTable, MakesAnEmptyTable) {
  Store store;
  const auto rows = store.CreateTable(MakeConfig("t", 4));
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(*rows, 0u);
  const auto table = store.Find(HashName("t"));
  ASSERT_TRUE(table.ok());
  EXPECT_EQ((*table)->config().name, "t");
}

TEST(StoreCreateTable, AttachesToATableOfTheSameSettings) {
  Store store;
  ASSERT_TRUE(store.CreateTable(MakeConfig("t", 1)).ok());
  const auto table = store.Find(HashName("t"));
  ASSERT_TRUE(table.ok());
  std::vector<float> rows(3);
  (*table)->Lookup(std::vector<int64_t>{1, 2, 3}, false, rows);

  const auto held = store.CreateTable(MakeConfig("t", 1));
  ASSERT_TRUE(held.ok());
  EXPECT_EQ(*held, 3u);
  EXPECT_EQ(*store.Find(HashName("t")), *table);
}

TEST(StoreCreateTable, ShowsTheSettingsThatDifferAlone) {
  const TableConfig held = MakeConfig("t", 4, "uniform", "sgd");
  const TableConfig config = MakeConfig("t", 8, "uniform", "adam(beta_1=0.5)");
  const std::string message = Conflict(held, config);
  ExpectContains(message,
                 "table \"t\" exists with other settings: output_dim: 4 here, "
                 "8 asked; optimizer: sgd here, adam(beta_1=0.5) asked. ");
  ExpectContains(message, "ptf.Table(name).drop()");
  EXPECT_EQ(message.find("embeddings_initializer"), std::string::npos);
}

TEST(StoreCreateTable, ShowsOfOneRuleTheNumbersThatDifferAlone) {
  const std::string message =
      Conflict(MakeConfig("t", 4, "uniform", "adam(beta_1=0.9,beta_2=0.999)"),
               MakeConfig("t", 4, "uniform", "adam(beta_1=0.5,beta_2=0.999)"));
  ExpectContains(message,
                 "settings: optimizer: adam(beta_1=0.9) here, adam(beta_1=0.5) "
                 "asked. ");
}

TEST(StoreCreateTable, RefusesEverySettingThatDiffers) {
  const TableConfig held = MakeConfig("t", 4);
  std::vector<TableConfig> others(8, held);
  others[0].dim = 5;
  others[1].initializer.params["maxval"] = 0.06;
  others[2].optimizer.params["momentum"] = 0.5;
  others[3].seed = 1;
  others[4].default_value = 1e-20f;
  others[5].row_dtype = SpecOf("int8");
  others[6].admission = SpecOf("min_count(count=2)");
  others[7].eviction = SpecOf("ttl(steps=2)");
  for (const TableConfig& other : others) Conflict(held, other);
}

TEST(StoreCreateTable, RefusesAnotherNameOfTheSameHash) {
  const std::string one = "8yn0iYCKYHlIj4-BwPqk";
  const std::string other = "GReLUrM4wMqfg9yzV3KQ";
  ASSERT_EQ(HashName(one), HashName(other));
  const std::string message =
      Conflict(MakeConfig(one, 4), MakeConfig(other, 4));
  ExpectContains(message, one);
  ExpectContains(message, other);
  ExpectContains(message, "names with the same hash");
}

TEST(StoreCreateTable, LeavesNoTraceOfBadSettings) {
  Store store;
  EXPECT_EQ(store.CreateTable(MakeConfig("t", 0)).status().code(),
            Code::kInvalidArgument);
  EXPECT_TRUE(store.Stats().empty());
}

TEST(StoreCreateTable, MakesOneTableForManyThreads) {
  Store store;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20; ++i) {
        const std::string name = Concat("t", i);
        EXPECT_TRUE(store.CreateTable(MakeConfig(name, 2)).ok());
        EXPECT_TRUE(store.Find(HashName(name)).ok());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(store.Stats().size(), 20u);
}

TEST(StoreSetShare, IsThatOfAllTables) {
  Store store;
  ASSERT_TRUE(store.CreateTable(MakeConfig("before", 2)).ok());
  store.SetShare(3);
  ASSERT_TRUE(store.CreateTable(MakeConfig("after", 2)).ok());
  Store::Tables tables;
  tables[HashName("replaced")] = *MakeTable(MakeConfig("replaced", 2));
  store.Replace(&tables);
  ASSERT_TRUE(
      store.Drop(HashName("before"), /*drop_id=*/1, /*stays=*/true).ok());
  ASSERT_EQ(store.All().size(), 3u);
  for (const Table* table : store.All()) {
    EXPECT_EQ(table->share(), 3u) << table->config().name;
  }
}

TEST(StoreFind, SaysWhyTheTableMayNotBeThere) {
  const Store store;
  const Status status = store.Find(HashName("t")).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  ExpectContains(status.message(), "the layer that makes it was not built");
}

TEST(StoreStats, IsSortedByName) {
  Store store;
  for (const char* name : {"c", "a", "b"}) {
    ASSERT_TRUE(store.CreateTable(MakeConfig(name, 2)).ok());
  }
  std::string names;
  for (const TableStats& stats : store.Stats()) names += stats.name;
  EXPECT_EQ(names, "abc");
}

}  // namespace
}  // namespace persia
