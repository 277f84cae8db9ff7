#include "cc/checkpoint/chain.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cc/checkpoint/compactor.h"
#include "cc/checkpoint/shard_file_writer.h"
#include "tests/cc/checkpoint/checkpoint_calls.h"
#include "tests/cc/support/shard_of.h"

namespace persia {
namespace {

using Rows = std::map<int64_t, TableRow>;

constexpr int kLevels = 4;

// Shards and their saves 1, 2, ...: a whole save, and increments of it.
class Cluster {
 public:
  Cluster(const TemporaryFolder* folder, const TableConfig& config,
          uint32_t count)
      : folder_(*folder) {
    for (uint32_t shard = 0; shard < count; ++shard) {
      stores_.push_back(std::make_unique<Store>());
      Make(config, shard);
    }
  }

  void Make(const TableConfig& config, uint32_t shard) {
    EXPECT_TRUE(stores_[shard]->CreateTable(config).ok());
  }

  uint32_t count() const { return static_cast<uint32_t>(stores_.size()); }
  Table* table(uint32_t shard) { return stores_[shard]->All()[0]; }

  Ids Own(uint32_t shard, int64_t begin, int64_t end) const {
    Ids own;
    for (const int64_t id : Range(begin, end)) {
      if (ShardOf(id, count()) == shard) own.push_back(id);
    }
    return own;
  }

  void Train(int64_t begin, int64_t end) {
    for (uint32_t shard = 0; shard < count(); ++shard) {
      const Ids ids = Own(shard, begin, end);
      Look(table(shard), ids);
      table(shard)->Update(ids, Floats(ids.size() * 4, 0.25f), 0.1f);
    }
  }

  void Remove(int64_t begin, int64_t end) {
    for (uint32_t shard = 0; shard < count(); ++shard) {
      table(shard)->Remove(Own(shard, begin, end));
    }
  }

  // Returns the rows that were saved.
  Rows Save(bool commit = true) {
    ++last_;
    Rows rows;
    for (uint32_t shard = 0; shard < count(); ++shard) {
      std::vector<ClientWindow> clients(1);
      clients[0].client = 5;
      clients[0].highest = last_;
      const ShardHeader header = HeaderOf(last_, parent_, shard, count());
      const Status saved =
          persia::Save(*stores_[shard], header, PathOf(last_, shard), clients);
      EXPECT_TRUE(saved.ok()) << saved.message();
      if (commit) Commit(*stores_[shard]);
      Rows own = ExportAll(*table(shard));
      rows.merge(own);
    }
    if (!commit) return rows;
    saves_.push_back(last_);
    parent_ = last_;
    return rows;
  }

  uint64_t last() const { return saves_.back(); }

  std::string PathOf(uint64_t save, uint32_t shard) const {
    return folder_ / (std::to_string(save) + "." + std::to_string(shard));
  }

  // The files of the last save and of all saves before it.
  std::vector<std::string> Paths() const {
    std::vector<std::string> paths;
    for (const uint64_t save : saves_) {
      for (uint32_t shard = 0; shard < count(); ++shard) {
        paths.push_back(PathOf(save, shard));
      }
    }
    return paths;
  }

  std::vector<std::string> PathsOfShard(uint32_t shard) const {
    std::vector<std::string> paths;
    for (const uint64_t save : saves_) paths.push_back(PathOf(save, shard));
    return paths;
  }

 private:
  const TemporaryFolder& folder_;
  std::vector<std::unique_ptr<Store>> stores_;
  uint64_t last_ = 0;
  uint64_t parent_ = 0;
  std::vector<uint64_t> saves_;
};

TableConfig Config() { return MakeConfig("t", 4, "uniform", "adagrad"); }

// Saves the whole and then increments, one of which fails.
Rows SaveChain(Cluster* cluster) {
  cluster->Train(0, 2000);
  cluster->Save();
  Rows rows;
  for (int level = 1; level < kLevels; ++level) {
    const int64_t at = level * 100;
    cluster->Train(at, at + 150);
    cluster->Train(2000 + at, 2100 + at);
    cluster->Remove(at + 400, at + 500);
    if (level == 2) cluster->Save(/*commit=*/false);
    cluster->Remove(2000 + at, 2010 + at);
    cluster->Train(at + 400, at + 410);
    rows = cluster->Save();
  }
  return rows;
}

class ChainTest : public ::testing::Test {
 protected:
  // All rows of `count` shards, loaded from files.
  Rows LoadAll(const std::vector<std::string>& paths, uint64_t save,
               uint32_t count) {
    const Store empty;
    Rows rows;
    for (uint32_t shard = 0; shard < count; ++shard) {
      StoreLoader loader(&empty, HeaderOf(save, 0, shard, count));
      const Status status = Load(paths, &loader);
      EXPECT_TRUE(status.ok()) << status.message();
      if (!status.ok()) return {};
      Store::Tables tables = loader.TakeTables();
      Rows own = ExportAll(*tables.begin()->second);
      rows.merge(own);
    }
    return rows;
  }

  Status LoadOne(const std::vector<std::string>& paths, uint64_t save) {
    const Store empty;
    StoreLoader loader(&empty, HeaderOf(save, 0));
    return Load(paths, &loader);
  }

  const TemporaryFolder folder_;
};

TEST_F(ChainTest, AnyNumberOfShardsIsLoadedByAnyOther) {
  for (const uint32_t from : {1, 2, 3, 8}) {
    const TemporaryFolder folder;
    Cluster cluster(&folder, Config(), from);
    const Rows saved = SaveChain(&cluster);
    ASSERT_GT(saved.size(), 1900u);
    for (const uint32_t to : {1, 2, 3, 8}) {
      EXPECT_EQ(LoadAll(cluster.Paths(), cluster.last(), to), saved)
          << from << " onto " << to;
    }
  }
}

TEST_F(ChainTest, AnIncrementIsShort) {
  Cluster cluster(&folder_, Config(), 1);
  cluster.Train(0, 10000);
  cluster.Save();
  cluster.Train(0, 100);
  cluster.Save();
  EXPECT_LT(ReadFile(cluster.PathOf(2, 0)).size(),
            ReadFile(cluster.PathOf(1, 0)).size() / 50);
}

TEST_F(ChainTest, ATableThatIsNewIsWhole) {
  Cluster cluster(&folder_, MakeConfig("z", 4, "uniform", "adagrad"), 1);
  cluster.Train(0, 100);
  cluster.Save();
  cluster.Make(Config(), 0);  // Comes before "z" by name.
  cluster.Train(0, 50);
  const Rows saved = cluster.Save();
  cluster.Train(0, 60);
  cluster.Save();
  const Store empty;
  StoreLoader loader(&empty, HeaderOf(3, 0));
  ASSERT_TRUE(Load(cluster.Paths(), &loader).ok());
  const Store::Tables tables = loader.TakeTables();
  EXPECT_EQ(tables.at(HashName("t"))->Stats().rows, 60u);
  EXPECT_EQ(tables.at(HashName("z"))->Stats().rows, 100u);
}

TEST_F(ChainTest, WindowsAreTheNewest) {
  Cluster cluster(&folder_, Config(), 2);
  SaveChain(&cluster);
  const Store empty;
  StoreLoader loader(&empty, HeaderOf(cluster.last(), 0, 1, 2));
  ASSERT_TRUE(Load(cluster.Paths(), &loader).ok());
  const auto clients = loader.TakeClients();
  ASSERT_EQ(clients.size(), 1u);
  EXPECT_EQ(clients[0].highest, cluster.last());
}

TEST_F(ChainTest, RowsGrowOldFromTheNewestSave) {
  TableConfig config = Config();
  config.eviction = SpecOf("ttl(steps=20)");
  Cluster cluster(&folder_, config, 1);
  Look(cluster.table(0), {1});
  cluster.Save();
  for (int step = 0; step < 15; ++step) Look(cluster.table(0), {2});
  cluster.Save();
  const Store empty;
  StoreLoader loader(&empty, HeaderOf(2, 0));
  ASSERT_TRUE(Load(cluster.Paths(), &loader).ok());
  const Store::Tables tables = loader.TakeTables();
  Table* const loaded = tables.begin()->second.get();
  for (int step = 0; step < 4; ++step) Look(loaded, {2});
  EXPECT_EQ(ExportedIds(*loaded), (Ids{1, 2}));
  Look(loaded, {2});
  EXPECT_EQ(ExportedIds(*loaded), Ids{2});
}

TEST_F(ChainTest, AFileThatIsMissingIsFound) {
  Cluster cluster(&folder_, Config(), 2);
  SaveChain(&cluster);
  const std::vector<std::string> all = cluster.Paths();
  for (size_t missing = 0; missing < all.size(); ++missing) {
    std::vector<std::string> paths = all;
    paths.erase(paths.begin() + static_cast<ptrdiff_t>(missing));
    EXPECT_EQ(LoadOne(paths, cluster.last()).code(), Code::kDataLoss)
        << all[missing];
  }
  // All files of one shard, and none of the other.
  const Status lacks = LoadOne(cluster.PathsOfShard(0), cluster.last());
  EXPECT_EQ(lacks.code(), Code::kDataLoss);
  EXPECT_NE(lacks.message().find(
                "hold no rows of the slots 8192-16383: files of shards are "),
            std::string::npos)
      << lacks.message();
  // All files but the first: one shard lacks its whole save.
  const Status status = LoadOne({all.begin() + 1, all.end()}, cluster.last());
  EXPECT_NE(status.message().find(cluster.PathOf(2, 0) +
                                  " is an increment of save 1"),
            std::string::npos)
      << status.message();
}

// A chain of one shard, beside a whole save of another, whose slots changed.
TEST_F(ChainTest, ChainsOfShardsMayDifferInLength) {
  Cluster cluster(&folder_, Config(), 2);
  cluster.Train(0, 1000);
  cluster.Save();
  cluster.Train(500, 1200);
  const Rows saved = cluster.Save();
  Store copy;
  ASSERT_TRUE(copy.CreateTable(Config()).ok());
  RawRows rows;
  auto frozen = cluster.table(1)->Freeze();
  while (*(*frozen)->Read(100000, &rows)) {
  }
  copy.All()[0]->Restore(rows);
  const std::string other = folder_ / "other";
  ShardHeader header = HeaderOf(2, 0, 1, 2);
  header.member = 5;
  ASSERT_TRUE(Save(copy, header, other).ok());
  std::vector<std::string> paths = cluster.PathsOfShard(0);
  paths.push_back(other);
  EXPECT_EQ(LoadAll(paths, 2, 3), saved);
}

TEST_F(ChainTest, AFileOfAnotherSaveIsFound) {
  Cluster cluster(&folder_, Config(), 1);
  SaveChain(&cluster);
  const Status status = LoadOne(cluster.Paths(), 77);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_NE(status.message().find(cluster.PathOf(cluster.last(), 0)),
            std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find("its checkpoint is of save 77"),
            std::string::npos)
      << status.message();
  // The whole save comes last, after increments that it makes useless.
  std::vector<std::string> paths = cluster.Paths();
  paths.push_back(paths[0]);
  EXPECT_EQ(LoadOne(paths, 1).code(), Code::kDataLoss);
}

TEST_F(ChainTest, ChangesOfATableThatTheParentLacksAreRefused) {
  Cluster with(&folder_, Config(), 1);
  with.Train(0, 10);
  with.Save();
  with.Train(0, 10);
  with.Save();
  const TemporaryFolder other;
  Cluster without(&other, MakeConfig("z", 4), 1);
  without.Save();
  const Status status = LoadOne({without.PathOf(1, 0), with.PathOf(2, 0)}, 2);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_NE(
      status.message().find("only changed rows of table \"t\", although the "
                            "checkpoint before it does not have"),
      std::string::npos)
      << status.message();
}

// Our shards do not write such increments, but other programs may: one that
// erases an id and also gives it a row.
TEST_F(ChainTest, ARowComesAfterItsIdWasErased) {
  TableHead table{Config(), *LayoutOf(Config())};
  const auto write = [&](uint64_t save, const Ids& erased, const Ids& ids) {
    const std::string path = folder_ / std::to_string(save);
    ShardProgress progress;
    ShardFileWriter writer(std::move(*LocalFiles()->Create(path)), &progress);
    const std::vector<std::byte> rows(ids.size() * table.layout.row_bytes);
    EXPECT_TRUE(writer.Begin(HeaderOf(save, save - 1)).ok());
    EXPECT_TRUE(writer.AddTable(table).ok());
    if (!erased.empty()) {
      EXPECT_TRUE(writer.AddErased(erased).ok());
    }
    EXPECT_TRUE(writer.AddRows(ids, rows).ok());
    EXPECT_TRUE(writer.Finish({}).ok());
    return path;
  };
  const std::string whole = write(1, {}, {1, 2, 3});
  table.scope = SaveScope::kChanges;
  const std::string increment = write(2, {1, 2}, {1});
  const auto ids_of = [&](const std::vector<std::string>& paths) {
    Ids ids;
    for (const auto& [id, row] : LoadAll(paths, 2, 1)) ids.push_back(id);
    return ids;
  };
  EXPECT_EQ(ids_of({whole, increment}), (Ids{1, 3}));
  ShardProgress progress;
  ASSERT_TRUE(CompactShard(LocalFiles(), {whole, increment}, 2, folder_ / "out",
                           {}, &progress)
                  .ok());
  EXPECT_EQ(ids_of({folder_ / "out"}), (Ids{1, 3}));
}

class CompactorTest : public ChainTest {
 protected:
  Status Compact(const Cluster& cluster, uint32_t shard,
                 size_t max_ids = 1 << 20) {
    ShardProgress progress;
    return CompactShard(LocalFiles(), cluster.PathsOfShard(shard),
                        cluster.last(), OutOf(shard), {max_ids}, &progress);
  }

  std::string OutOf(uint32_t shard) const {
    return folder_ / ("out" + std::to_string(shard));
  }
};

TEST_F(CompactorTest, MakesAWholeSaveOfTheSameRows) {
  for (const size_t max_ids : {size_t{1} << 20, size_t{100}, size_t{7}}) {
    Cluster cluster(&folder_, Config(), 2);
    const Rows saved = SaveChain(&cluster);
    for (const uint32_t shard : {0, 1}) {
      const Status status = Compact(cluster, shard, max_ids);
      ASSERT_TRUE(status.ok()) << status.message();
      const auto header = ReadShardHeader(LocalFiles(), OutOf(shard));
      ASSERT_TRUE(header.ok());
      EXPECT_EQ(header->parent_id, 0u);
    }
    EXPECT_EQ(LoadAll({OutOf(0), OutOf(1)}, cluster.last(), 3), saved)
        << max_ids;
  }
}

TEST_F(CompactorTest, LaterIncrementsBuildOnIt) {
  Cluster cluster(&folder_, Config(), 1);
  SaveChain(&cluster);
  ASSERT_TRUE(Compact(cluster, 0).ok());
  cluster.Train(700, 800);
  cluster.Remove(0, 50);
  const Rows saved = cluster.Save();
  EXPECT_EQ(
      LoadAll({OutOf(0), cluster.PathOf(cluster.last(), 0)}, cluster.last(), 1),
      saved);
}

TEST_F(CompactorTest, HasEveryRowOnce) {
  Cluster cluster(&folder_, Config(), 1);
  const Rows saved = SaveChain(&cluster);
  cluster.Make(MakeConfig("empty", 4), 0);
  cluster.Save();
  ShardProgress progress;
  ASSERT_TRUE(CompactShard(LocalFiles(), cluster.PathsOfShard(0),
                           cluster.last(), OutOf(0), {}, &progress)
                  .ok());
  EXPECT_EQ(progress.rows, saved.size());
  const Store empty;
  StoreLoader loader(&empty, HeaderOf(cluster.last(), 0));
  ASSERT_TRUE(Load({OutOf(0)}, &loader).ok());
  EXPECT_EQ(loader.TakeTables().size(), 2u);
  EXPECT_EQ(loader.TakeClients()[0].highest, cluster.last());
}

TEST_F(CompactorTest, RowsStayAsOldAsTheyAre) {
  TableConfig config = Config();
  config.eviction = SpecOf("ttl(steps=20)");
  Cluster cluster(&folder_, config, 1);
  Look(cluster.table(0), {1});
  cluster.Save();
  for (int step = 0; step < 15; ++step) Look(cluster.table(0), {2});
  cluster.Save();
  ASSERT_TRUE(Compact(cluster, 0).ok());
  const Store empty;
  StoreLoader loader(&empty, HeaderOf(2, 0));
  ASSERT_TRUE(Load({OutOf(0)}, &loader).ok());
  const Store::Tables tables = loader.TakeTables();
  Table* const loaded = tables.begin()->second.get();
  for (int step = 0; step < 5; ++step) Look(loaded, {2});
  EXPECT_EQ(ExportedIds(*loaded), Ids{2});
}

TEST_F(CompactorTest, ADamagedChainLeavesNoFile) {
  Cluster cluster(&folder_, Config(), 1);
  SaveChain(&cluster);
  std::string bytes = ReadFile(cluster.PathOf(1, 0));
  bytes[bytes.size() / 2] ^= 1;
  WriteFile(cluster.PathOf(1, 0), bytes);
  const Status status = Compact(cluster, 0);
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_NE(status.message().find(cluster.PathOf(1, 0)), std::string::npos);
  EXPECT_EQ(LocalFiles()->Size(OutOf(0)).status().code(), Code::kNotFound);
}

TEST_F(CompactorTest, WhatIsNoChainIsRefused) {
  Cluster cluster(&folder_, Config(), 2);
  cluster.Train(0, 10);
  cluster.Save();
  EXPECT_EQ(Compact(cluster, 0).code(), Code::kInvalidArgument);
  cluster.Save();
  ShardProgress progress;
  EXPECT_EQ(CompactShard(LocalFiles(), cluster.Paths(), cluster.last(),
                         OutOf(0), {}, &progress)
                .code(),
            Code::kInvalidArgument);
}

}  // namespace
}  // namespace persia
