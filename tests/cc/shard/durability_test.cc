// A shard with a log acknowledges only what is on the device.

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "cc/shard/local_service.h"
#include "tests/cc/files/temporary_folder.h"
#include "tests/cc/log/memory_files.h"
#include "tests/cc/service/service_calls.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

const Floats kGradients(kDim, 1.0f);

class DurabilityTest : public ::testing::Test {
 protected:
  DurabilityTest() { Restart(); }

  // Starts again as after a loss of power.
  void Restart() {
    service_ = nullptr;
    MemoryImage image = files_ == nullptr ? MemoryImage() : files_->image();
    for (auto& [path, file] : image) file.bytes.resize(file.synced);
    files_ = std::make_unique<MemoryFiles>(image);
    Open();
  }

  void Open() {
    LocalServiceOptions options;
    // The lock is a file on this machine; everything else is in memory.
    options.recovery.journal.folder = folder_.path();
    options.recovery.journal.files = files_.get();
    auto service = OpenLocalService(options);
    ASSERT_TRUE(service.ok()) << service.status().message();
    service_ = std::move(*service);
  }

  // A training lookup under way.
  struct Lookup {
    Lookup(EmbeddingService* service, const Ids& wanted)
        : ids(wanted), rows(ids.size() * kDim) {
      request.tables = {{IdsOf("t", ids), rows}};
      service->Lookup(&request, result.done());
    }
    const Ids ids;
    Floats rows;
    LookupRequest request;
    CallResult result;
  };

  struct Update {
    Update(EmbeddingService* service, int64_t id, uint64_t sequence) : ids{id} {
      request.client = 1;
      request.sequence = sequence;
      request.tables = {{IdsOf("t", ids), kGradients, 0.1f}};
      service->Update(&request, result.done());
    }
    const Ids ids;
    UpdateRequest request;
    CallResult result;
  };

  void CreateTable() {
    ASSERT_TRUE(Create(service_.get(), MakeConfig("t", kDim)).ok());
  }

  TemporaryFolder folder_;
  std::unique_ptr<MemoryFiles> files_;
  std::unique_ptr<EmbeddingService> service_;
};

TEST_F(DurabilityTest, AnAcknowledgedUpdateSurvives) {
  CreateTable();
  Train(service_.get(), "t", {1});
  ASSERT_TRUE(Step(service_.get(), "t", {1}, kGradients, 1, 1).ok());
  const Rows rows = RowsOf(service_.get(), "t");
  Restart();
  EXPECT_EQ(RowsOf(service_.get(), "t"), rows);
}

TEST_F(DurabilityTest, AnUpdateIsAcknowledgedOnceItIsDurable) {
  CreateTable();
  Train(service_.get(), "t", {1});
  files_->HoldSyncs();
  const Update first(service_.get(), 1, 1);
  files_->WaitForHeldSync();
  EXPECT_FALSE(first.result.ready());
  // The update is applied, and not yet durable: a repeat of it waits too.
  const Update again(service_.get(), 1, 1);
  EXPECT_FALSE(again.result.ready());
  files_->ReleaseSyncs();
  EXPECT_TRUE(first.result.Wait().ok());
  EXPECT_TRUE(again.result.Wait().ok());
}

TEST_F(DurabilityTest, ALookupIsAnsweredOnceItsRowsAreDurable) {
  CreateTable();
  Train(service_.get(), "t", {1});
  files_->HoldSyncs();
  const Lookup maker(service_.get(), {1, 2});
  files_->WaitForHeldSync();
  // A lookup that finds a row which another lookup has made waits as well:
  // after a crash, its client's update would find no row.
  const Lookup finder(service_.get(), {2});
  EXPECT_FALSE(maker.result.ready());
  EXPECT_FALSE(finder.result.ready());
  files_->ReleaseSyncs();
  EXPECT_TRUE(maker.result.Wait().ok());
  EXPECT_TRUE(finder.result.Wait().ok());
  files_->HoldSyncs();
  // A lookup that makes no row, and whose rows are durable, waits for nothing.
  const Lookup reader(service_.get(), {1, 2});
  EXPECT_TRUE(reader.result.Wait().ok());
  files_->ReleaseSyncs();
}

TEST_F(DurabilityTest, ATableIsAcknowledgedOnceItIsDurable) {
  files_->HoldSyncs();
  CreateTableRequest request;
  request.config = MakeConfig("t", kDim);
  CallResult made;
  service_->CreateTable(&request, made.done());
  files_->WaitForHeldSync();
  CreateTableRequest second = request;
  CallResult attached;
  service_->CreateTable(&second, attached.done());
  EXPECT_FALSE(made.ready());
  EXPECT_FALSE(attached.ready());
  files_->ReleaseSyncs();
  EXPECT_TRUE(made.Wait().ok());
  EXPECT_TRUE(attached.Wait().ok());
}

TEST_F(DurabilityTest, AFullDiskIsAnErrorAndLosesNothing) {
  CreateTable();
  Train(service_.get(), "t", {1});
  uint64_t sequence = 1;
  Rows rows;
  files_->FailWritesAfter(1000);
  Status status;
  for (; sequence < 100; ++sequence) {
    rows = RowsOf(service_.get(), "t");
    status = Step(service_.get(), "t", {1}, kGradients, 1, sequence);
    if (!status.ok()) break;
  }
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.message();
  EXPECT_GT(sequence, 1u);
  // Repeating the update does not help, and other changes fail too.
  EXPECT_FALSE(Step(service_.get(), "t", {1}, kGradients, 1, sequence).ok());
  const Lookup maker(service_.get(), {5});
  EXPECT_FALSE(maker.result.Wait().ok());
  Restart();
  EXPECT_EQ(RowsOf(service_.get(), "t"), rows);
  EXPECT_TRUE(Step(service_.get(), "t", {1}, kGradients, 1, sequence).ok());
  EXPECT_NE(RowsOf(service_.get(), "t"), rows);
}

}  // namespace
}  // namespace persia
