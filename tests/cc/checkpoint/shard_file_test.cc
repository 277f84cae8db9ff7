#include "cc/checkpoint/shard_file.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "cc/checkpoint/block.h"
#include "tests/cc/checkpoint/checkpoint_calls.h"
#include "tests/cc/support/shard_of.h"

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

// Without the words of the header's slots.
std::string WithoutSlots(const std::string& bytes) {
  constexpr size_t kAt = kBlockHeadBytes + 40, kSize = kSlots / 8;
  return bytes.substr(0, kAt) + bytes.substr(kAt + kSize);
}

class ShardFileTest : public ::testing::Test {
 protected:
  static ShardHeader Whole() { return HeaderOf(7, 0, 1, 2); }
  static ShardHeader Increment() { return HeaderOf(8, 7, 1, 2); }

  ShardFileTest() {
    const TableConfig config = MakeConfig("t", 2, "zeros", "adagrad");
    EXPECT_TRUE(store_.CreateTable(config).ok());
    clients_.resize(1);
    clients_[0].client = 5;
    clients_[0].highest = 70;
    clients_[0].Set(0);
    clients_[0].Set(65);
  }

  // The first `count` ids that belong to the shard.
  static Ids OwnIds(size_t count) {
    Ids ids;
    for (int64_t id = 0; ids.size() < count; ++id) {
      if (ShardOf(id, 2) == 1) ids.push_back(id);
    }
    return ids;
  }

  void SaveRows(size_t count, const ShardHeader& header = Whole()) {
    const Floats values(count * 2, 1.5f);
    store_.All()[0]->Assign(OwnIds(count), values, values);
    const Status saved = Save(store_, header, path_, clients_);
    ASSERT_TRUE(saved.ok()) << saved.message();
    Commit(store_);
  }

  // Saves an increment in which the first of three rows is set and the last is
  // erased.
  void SaveIncrement() {
    SaveRows(3);
    store_.All()[0]->Remove(Ids{OwnIds(3)[2]});
    SaveRows(1, Increment());
  }

  // Expects that every changed byte and every cut is found.
  void ExpectChecked() {
    const std::string bytes = ReadFile(path_);
    for (size_t i = 0; i < bytes.size(); ++i) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ 0x10);
      WriteFile(path_, changed);
      EXPECT_EQ(Read().code(), Code::kDataLoss) << "byte " << i;
    }
    for (size_t size = 0; size < bytes.size(); ++size) {
      WriteFile(path_, bytes.substr(0, size));
      const Status status = Read();
      EXPECT_EQ(status.code(), Code::kDataLoss) << size << " bytes";
      EXPECT_NE(status.message().find(path_), std::string::npos);
    }
    WriteFile(path_, bytes + "x");
    EXPECT_EQ(Read().code(), Code::kDataLoss);
  }

  // Reads the one file.
  Status Read(const ShardHeader& own = Whole()) {
    StoreLoader loader(&store_, own);
    ShardProgress progress;
    const Status status = ReadShard(LocalFiles(), path_, &loader, &progress);
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
  EXPECT_EQ(Hex(WithoutSlots(ReadFile(path_))),
            "010000000000000028080000000000004edc2fec9113c0ae50434b5003000000\n"
            "0700000000000000000000000000000065000000000000000001000000000000\n"
            "020000000000000090000000000000009f96199066a84a5f1000000008000000\n"
            "0800000000000000000000000200000000000000000000000000000001000000\n"
            "7400000000000000050000007a65726f73000000000000000700000061646167\n"
            "726164000000000007000000666c6f61743332000000000009000000756e6c69\n"
            "6d6974656400000006000000616c77617973000000000000050000006e657665\n"
            "72000000000000000400000000000000200000000000000079897ee8c36623d9\n"
            "010000000000000001000000000000000000c03f0000c03f0000c03f0000c03f\n"
            "050000000000000098000000000000003562704188edadf50100000000000000\n"
            "0500000000000000460000000000000001000000000000000200000000000000\n"
            "0000000000000000000000000000000000000000000000000000000000000000\n"
            "0000000000000000000000000000000000000000000000000000000000000000\n"
            "0000000000000000000000000000000000000000000000000000000000000000\n"
            "0000000000000000000000000000000006000000000000001000000000000000\n"
            "14977cb0e75585d501000000000000000000000000000000");
}

TEST_F(ShardFileTest, EveryChangedByteCutAndByteTooManyIsFound) {
  SaveRows(3);
  ExpectChecked();
}

TEST_F(ShardFileTest, OfAnIncrementToo) {
  SaveIncrement();
  ExpectChecked();
}

TEST_F(ShardFileTest, AnIncrementsBytesAreTheFormats) {
  SaveIncrement();
  EXPECT_EQ(
      Hex(WithoutSlots(ReadFile(path_))),
      "01000000000000002808000000000000b20cf7efca05546d50434b5003000000\n"
      "0800000000000000070000000000000065000000000000000001000000000000\n"
      "020000000000000090000000000000003d588bf9231a3d3a1000000008000000\n"
      "0800000000000000010000000200000000000000000000000000000001000000\n"
      "7400000000000000050000007a65726f73000000000000000700000061646167\n"
      "726164000000000007000000666c6f61743332000000000009000000756e6c69\n"
      "6d6974656400000006000000616c77617973000000000000050000006e657665\n"
      "7200000000000000030000000000000010000000000000007d10386bfe005b6c\n"
      "0100000000000000030000000000000004000000000000002000000000000000\n"
      "79897ee8c36623d9010000000000000001000000000000000000c03f0000c03f\n"
      "0000c03f0000c03f050000000000000098000000000000003562704188edadf5\n"
      "0100000000000000050000000000000046000000000000000100000000000000\n"
      "0200000000000000000000000000000000000000000000000000000000000000\n"
      "0000000000000000000000000000000000000000000000000000000000000000\n"
      "0000000000000000000000000000000000000000000000000000000000000000\n"
      "0000000000000000000000000000000000000000000000000600000000000000\n"
      "100000000000000033ea40f9d781f4e401000000000000000100000000000000\n");
}

TEST_F(ShardFileTest, ABlockThatIsMissingIsFound) {
  SaveIncrement();
  const std::string bytes = ReadFile(path_);
  int blocks = 0;
  for (size_t at = 0; at < bytes.size(); ++blocks) {
    uint64_t body;
    std::memcpy(&body, bytes.data() + at + 8, sizeof(body));
    const size_t size = kBlockHeadBytes + body;
    WriteFile(path_, bytes.substr(0, at) + bytes.substr(at + size));
    EXPECT_EQ(Read().code(), Code::kDataLoss) << "block " << blocks;
    at += size;
  }
  EXPECT_EQ(blocks, 6);
}

TEST_F(ShardFileTest, TheHeaderIsReadAlone) {
  SaveIncrement();
  auto header = ReadShardHeader(LocalFiles(), path_);
  ASSERT_TRUE(header.ok()) << header.status().message();
  EXPECT_EQ(header->save_id, 8u);
  EXPECT_EQ(header->parent_id, 7u);
  EXPECT_EQ(header->member, 101u);
  EXPECT_EQ(header->slots, SlotsOfShard(1, 2));
  WriteFile(path_, ReadFile(path_).substr(0, 55));
  header = ReadShardHeader(LocalFiles(), path_);
  EXPECT_EQ(header.status().code(), Code::kDataLoss);
  EXPECT_NE(header.status().message().find(path_), std::string::npos);
}

TEST_F(ShardFileTest, WindowsOfAnotherShardAreNotTaken) {
  SaveRows(3);
  ASSERT_TRUE(Read(HeaderOf(7, 0, 0, 2)).ok());
  EXPECT_TRUE(loaded_clients_.empty());
  ASSERT_TRUE(Read(HeaderOf(7, 0, 0, 1)).ok());
  EXPECT_TRUE(loaded_clients_.empty());
}

TEST_F(ShardFileTest, AFullDeviceIsAnError) {
  EXPECT_EQ(Save(store_, Whole(), "/dev/full").code(),
            Code::kResourceExhausted);
}

TEST_F(ShardFileTest, ACancelledSaveEnds) {
  SaveRows(3);
  Table* const table = store_.All()[0];
  auto frozen = table->Freeze();
  ASSERT_TRUE(frozen.ok());
  ShardProgress progress;
  progress.cancelled = true;
  EXPECT_EQ(WriteShard(LocalFiles(), path_, Whole(),
                       {{{table->config(), table->layout()}, frozen->get()}},
                       {}, &progress)
                .code(),
            Code::kCancelled);
}

}  // namespace
}  // namespace persia
