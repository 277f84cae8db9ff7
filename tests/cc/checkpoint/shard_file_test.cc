#include "cc/checkpoint/shard_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "cc/checkpoint/block.h"
#include "tests/cc/checkpoint/checkpoint_calls.h"

namespace persia {
namespace {

std::string Hex(const std::string& bytes) {
  std::string text;
  for (size_t i = 0; i < bytes.size(); ++i) {
    char pair[3];
    std::snprintf(pair, sizeof(pair), "%02x",
                  static_cast<unsigned char>(bytes[i]));
    text += pair;
    if (i % 32 == 31) text += '\n';
  }
  return text;
}

class ShardFileTest : public ::testing::Test {
 protected:
  static constexpr ShardHeader kHeader{7, 1, 2};

  ShardFileTest() {
    TableConfig config = MakeConfig("t", 2, "zeros", "adagrad");
    config.shard_index = 1;
    config.shard_count = 2;
    EXPECT_TRUE(store_.CreateTable(config).ok());
    clients_.resize(1);
    clients_[0].client = 5;
    clients_[0].highest = 70;
    clients_[0].Set(0);
    clients_[0].Set(65);
  }

  void SaveRows(size_t count) {
    Table* const table = store_.All()[0];
    Ids ids;
    for (int64_t id = 0; ids.size() < count; ++id) {
      if (ShardOf(id, 2) == 1) ids.push_back(id);
    }
    const Floats values(count * 2, 1.5f);
    table->Assign(ids, values, values);
    const Status saved = Save(store_, kHeader, path_, clients_);
    ASSERT_TRUE(saved.ok()) << saved.message();
  }

  Status Read(const ShardHeader& own = kHeader) {
    StoreLoader loader(&store_, own);
    const Status status = Load({path_}, &loader);
    loaded_ = loader.TakeTables();
    loaded_clients_ = loader.TakeClients();
    return status;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_ / "shard";
  Store store_;
  std::vector<ClientWindow> clients_;
  Store::Tables loaded_;
  std::vector<ClientWindow> loaded_clients_;
};

TEST_F(ShardFileTest, ReadsWhatWasWritten) {
  SaveRows(5000);
  const Status status = Read();
  ASSERT_TRUE(status.ok()) << status.message();
  ASSERT_EQ(loaded_.size(), 1u);
  EXPECT_EQ(ExportAll(*loaded_.begin()->second), ExportAll(*store_.All()[0]));
  EXPECT_EQ(loaded_clients_, clients_);
}

TEST_F(ShardFileTest, ReadsAFileWithoutRows) {
  SaveRows(0);
  const Status status = Read();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(loaded_.begin()->second->Stats().rows, 0u);
}

TEST_F(ShardFileTest, TheBytesAreTheFormats) {
  SaveRows(1);
  EXPECT_EQ(
      Hex(ReadFile(path_)),
      "01000000000000001800000000000000a70dcd50031f4b1650434b5001000000\n"
      "0700000000000000010000000200000002000000000000009000000000000000\n"
      "945a8002abf3c218100000000800000008000000000000000200000000000000\n"
      "000000000000000001000000020000000100000074000000050000007a65726f\n"
      "73000000000000000700000061646167726164000000000007000000666c6f61\n"
      "743332000000000009000000756e6c696d6974656400000006000000616c7761\n"
      "7973000000000000050000006e65766572000000000000000300000000000000\n"
      "200000000000000079897ee8f0a0e85d01000000000000000100000000000000\n"
      "0000c03f0000c03f0000c03f0000c03f04000000000000009800000000000000\n"
      "35627041351aeec2010000000000000005000000000000004600000000000000\n"
      "0100000000000000020000000000000000000000000000000000000000000000\n"
      "0000000000000000000000000000000000000000000000000000000000000000\n"
      "0000000000000000000000000000000000000000000000000000000000000000\n"
      "0000000000000000000000000000000000000000000000000000000000000000\n"
      "05000000000000000800000000000000adcf14c5ac829d8a0100000000000000\n");
}

TEST_F(ShardFileTest, EveryChangedByteIsFound) {
  SaveRows(3);
  const std::string bytes = ReadFile(path_);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x10);
    WriteFile(path_, changed);
    EXPECT_EQ(Read().code(), Code::kDataLoss) << "byte " << i;
  }
}

TEST_F(ShardFileTest, AFileCutAnywhereIsFound) {
  SaveRows(3);
  const std::string bytes = ReadFile(path_);
  for (size_t size = 0; size < bytes.size(); ++size) {
    WriteFile(path_, bytes.substr(0, size));
    const Status status = Read();
    EXPECT_EQ(status.code(), Code::kDataLoss) << size << " bytes";
    EXPECT_NE(status.message().find(path_), std::string::npos);
  }
}

TEST_F(ShardFileTest, BytesAfterTheEndAreFound) {
  SaveRows(3);
  WriteFile(path_, ReadFile(path_) + "x");
  EXPECT_EQ(Read().code(), Code::kDataLoss);
}

TEST_F(ShardFileTest, AFileOfAnotherCheckpointIsRefused) {
  SaveRows(3);
  const Status status = Read({8, 1, 2});
  EXPECT_EQ(status.code(), Code::kDataLoss);
  EXPECT_NE(status.message().find("of save 7"), std::string::npos)
      << status.message();
}

TEST_F(ShardFileTest, WindowsOfAnotherShardAreNotTaken) {
  SaveRows(3);
  ASSERT_TRUE(Read({7, 0, 2}).ok());
  EXPECT_TRUE(loaded_clients_.empty());
  ASSERT_TRUE(Read({7, 0, 1}).ok());
  EXPECT_TRUE(loaded_clients_.empty());
}

TEST_F(ShardFileTest, AFullDeviceIsAnError) {
  EXPECT_EQ(Save(store_, kHeader, "/dev/full").code(),
            Code::kResourceExhausted);
}

TEST_F(ShardFileTest, ACancelledSaveEnds) {
  SaveRows(3);
  Table* const table = store_.All()[0];
  auto frozen = table->Freeze();
  ASSERT_TRUE(frozen.ok());
  ShardProgress progress;
  progress.cancelled = true;
  EXPECT_EQ(WriteShard(LocalFiles(), path_, kHeader,
                       {{table->config(), table->layout(), 0, frozen->get()}},
                       {}, &progress)
                .code(),
            Code::kCancelled);
}

}  // namespace
}  // namespace persia
