// A table whose optimizer is set or replaced after the table was made.

#include <gtest/gtest.h>

#include <string>

#include "cc/shard/local_service.h"
#include "tests/cc/files/temporary_folder.h"
#include "tests/cc/service/service_calls.h"
#include "tests/cc/shard/checkpoint_fixture.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

TableConfig ConfigOf(const std::string& optimizer) {
  return MakeConfig("u", kDim, "uniform", optimizer);
}

// Returns the outcome, and in `held` the table's optimizer afterwards.
Status Open(EmbeddingService* service, const std::string& optimizer,
            std::string* held, bool replaces = false) {
  CreateTableRequest request;
  request.deadline = DeadlineAfter(60);
  request.config = ConfigOf(optimizer);
  request.replaces_optimizer = replaces;
  const Status status = Call(service, &EmbeddingService::CreateTable, &request);
  *held = request.optimizer;
  return status;
}

class OptimizerChangeTest : public CheckpointFixture {
 protected:
  std::string Opened(const std::string& optimizer, bool replaces = false) {
    std::string held;
    const Status status = Open(service_.get(), optimizer, &held, replaces);
    EXPECT_TRUE(status.ok()) << status.message();
    return held;
  }

  // Takes the events, and returns the text of the last one.
  std::string LastEvent() {
    std::string text;
    while (auto event = events_.Take(Clock::now())) text = event->text;
    return text;
  }

  Floats WeightsOf(const Ids& ids) {
    Floats weights;
    const Rows rows = RowsOf(service_.get(), "u");
    for (const int64_t id : ids) {
      const Floats& row = rows.at(id).weights;
      weights.insert(weights.end(), row.begin(), row.end());
    }
    return weights;
  }
};

TEST_F(OptimizerChangeTest, UpdatesWaitForTheDecision) {
  EXPECT_EQ(Opened("undecided"), "undecided");
  const Floats before = Train(service_.get(), "u", {1, 2});
  const Floats gradients(2 * kDim, 1.0f);
  EXPECT_EQ(Step(service_.get(), "u", {1, 2}, gradients, 1, 1).code(),
            Code::kFailedPrecondition);
  EXPECT_EQ(Opened("adam"), "adam");
  EXPECT_EQ(WeightsOf({1, 2}), before);
  UpdateCounts counts;
  // The refused update was not applied, so its sequence can be used again.
  EXPECT_TRUE(Step(service_.get(), "u", {1, 2}, gradients, 1, 1, &counts).ok());
  EXPECT_EQ(counts.applied, 2u);
  EXPECT_NE(WeightsOf({1, 2}), before);
}

TEST_F(OptimizerChangeTest, WhoHasNotDecidedAttachesToWhatWasDecided) {
  EXPECT_EQ(Opened("adam(beta_1=0.8)"), "adam(beta_1=0.8)");
  Train(service_.get(), "u", {1});
  EXPECT_EQ(Opened("undecided"), "adam(beta_1=0.8)");
  EXPECT_EQ(RowsOf(service_.get(), "u").size(), 1u);
}

TEST_F(OptimizerChangeTest, AnotherOptimizerIsRefusedUnlessItReplaces) {
  Opened("adam");
  const Floats before = Train(service_.get(), "u", {1, 2});
  std::string held;
  EXPECT_EQ(Open(service_.get(), "sgd", &held).code(), Code::kAlreadyExists);
  EXPECT_EQ(Opened("adagrad", true), "adagrad");
  EXPECT_EQ(WeightsOf({1, 2}), before);
  EXPECT_EQ(RowsOf(service_.get(), "u").at(1).state, Floats(kDim, 0.1f));
}

TEST_F(OptimizerChangeTest, TheLogNamesOnlyOptimizersThatWereDecided) {
  Opened("undecided");
  Opened("adam");
  EXPECT_EQ(LastEvent(), "table \"u\" now has the optimizer adam");
  Opened("sgd", true);
  EXPECT_EQ(LastEvent(),
            "table \"u\" now has the optimizer sgd, and no longer adam");
}

TEST_F(OptimizerChangeTest, OtherSettingsAreRefusedAllTheSame) {
  Opened("undecided");
  CreateTableRequest request;
  request.deadline = DeadlineAfter(60);
  request.config = MakeConfig("u", kDim, "zeros", "adam");
  request.replaces_optimizer = true;
  EXPECT_EQ(
      Call(service_.get(), &EmbeddingService::CreateTable, &request).code(),
      Code::kAlreadyExists);
}

TEST_F(OptimizerChangeTest, ARestoreDecidesToo) {
  Opened("adam");
  Train(service_.get(), "u", {1, 2});
  ASSERT_TRUE(
      Step(service_.get(), "u", {1, 2}, Floats(2 * kDim, 1.0f), 1, 1).ok());
  const Rows saved = RowsOf(service_.get(), "u");
  ASSERT_TRUE(Save(5).ok());
  LocalServiceOptions options;
  options.checkpoints.files = &files_;
  options.checkpoints.root = "/root";
  service_ = std::move(*OpenLocalService(options));
  Opened("undecided");
  ASSERT_TRUE(Restore(5).ok());
  EXPECT_EQ(Opened("undecided"), "adam");
  EXPECT_EQ(RowsOf(service_.get(), "u"), saved);
}

TEST_F(OptimizerChangeTest, TheNextSaveIsWhole) {
  Opened("undecided");
  Train(service_.get(), "u", {1, 2});
  ASSERT_TRUE(Save(5).ok());
  Opened("adam");
  CheckpointRequest increment;
  increment.parent_id = 5;
  EXPECT_EQ(Ask(CheckpointAction::kSave, 6, &increment).code(),
            Code::kFailedPrecondition);
}

TEST(OptimizerChangeRecoveryTest, TheLogTellsOfIt) {
  TemporaryFolder folder;
  LocalServiceOptions options;
  options.recovery.level = RecoveryLevel::kLog;
  options.recovery.journal.folder = folder.path();
  auto service = std::move(*OpenLocalService(options));
  std::string held;
  ASSERT_TRUE(Open(service.get(), "undecided", &held).ok());
  Train(service.get(), "u", {1, 2, 3});
  ASSERT_TRUE(Open(service.get(), "adam", &held).ok());
  ASSERT_TRUE(
      Step(service.get(), "u", {1, 2}, Floats(2 * kDim, 1.0f), 1, 1).ok());
  const Rows before = RowsOf(service.get(), "u");
  service = nullptr;

  service = std::move(*OpenLocalService(options));
  EXPECT_EQ(RowsOf(service.get(), "u"), before);
  ASSERT_TRUE(Open(service.get(), "undecided", &held).ok());
  EXPECT_EQ(held, "adam");
}

}  // namespace
}  // namespace persia
