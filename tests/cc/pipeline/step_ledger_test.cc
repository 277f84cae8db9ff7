#include "cc/pipeline/step_ledger.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/cc/pipeline/outcome.h"
#include "tests/cc/pipeline/steps.h"

namespace persia {
namespace {

constexpr TableKey kTable = 11;
constexpr TableKey kOtherTable = 22;

class StepLedgerTest : public testing::Test {
 protected:
  // Opens a training lookup of `ids` (dim 1), and keeps the steps that this
  // releases.
  Ticket Open(const std::string& layer, TableKey table = kTable,
              const std::vector<int64_t>& ids = {1, 2}) {
    StepLedger::Opened opened = ledger_.Open(MakePlan(layer, table, 1, ids));
    released_by_open_ = std::move(opened.released);
    return opened.ticket;
  }

  Ticket OpenReplica(int replica) {
    auto plan = MakePlan("a", kTable, 1, {1, 2});
    plan->replica = replica;
    return ledger_.Open(std::move(plan)).ticket;
  }

  // Opens a lookup of a stream's batch number `step`.
  Ticket OpenPrefetched(
      const std::string& layer, TableKey table, uint64_t step,
      std::function<void()> on_freed = [] {}) {
    auto plan = MakePlan(layer, table, 1, {1, 2});
    plan->slot = slots_[step];
    if (plan->slot == nullptr) {
      plan->slot = std::make_shared<BatchSlot>(
          /*stream=*/1, step, /*staleness=*/4, std::move(on_freed));
      slots_[step] = plan->slot;
    }
    StepLedger::Opened opened = ledger_.Open(std::move(plan));
    released_by_open_ = std::move(opened.released);
    return opened.ticket;
  }

  Status Stage(const std::string& layer, Ticket ticket,
               std::vector<float> gradients = {1, 2}) {
    return ledger_.Stage(layer, ticket, MakeGradients(std::move(gradients)));
  }

  StepGroup Commit(const std::string& layer) {
    auto committed = ledger_.Commit(layer, 0.5f);
    ExpectOk(committed.status());
    if (!committed.ok()) return {};
    return std::move(committed->released);
  }

  void ExpectRefusal(const std::string& layer, const char* reason) {
    const Status status = ledger_.Commit(layer, 0.5f).status();
    EXPECT_EQ(status.code(), Code::kFailedPrecondition);
    EXPECT_NE(status.message().find(reason), std::string::npos)
        << status.message();
    EXPECT_NE(status.message().find("'" + layer + "'"), std::string::npos)
        << status.message();
  }

  StepLedger ledger_;
  StepGroup released_by_open_;
  std::map<uint64_t, std::shared_ptr<BatchSlot>> slots_;  // By step.
};

TEST_F(StepLedgerTest, CommitReleasesWhatWasStaged) {
  const Ticket ticket = Open("a");
  EXPECT_NE(ticket, 0);
  ExpectOk(Stage("a", ticket, {3, 4}));
  const StepGroup released = Commit("a");
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(released[0].table, kTable);
  EXPECT_EQ(released[0].dim, 1u);
  EXPECT_EQ(released[0].learning_rate, 0.5f);
  ASSERT_EQ(released[0].parts.size(), 1u);
  EXPECT_EQ(released[0].parts[0].gradients.vectors.values()[1], 4);
  EXPECT_EQ(released[0].parts[0].plan->unique.ids,
            (std::vector<int64_t>{1, 2}));
}

TEST_F(StepLedgerTest, NothingIsReleasedWithoutACommit) {
  ExpectOk(Stage("a", Open("a")));
  EXPECT_TRUE(ledger_.ReleaseAll().empty());
  Open("b");
  EXPECT_TRUE(released_by_open_.empty());
}

TEST_F(StepLedgerTest, ACommitReleasesItsStepOnce) {
  ExpectOk(Stage("a", Open("a")));
  EXPECT_EQ(Commit("a").size(), 1u);
  EXPECT_TRUE(Commit("a").empty());
  EXPECT_TRUE(ledger_.ReleaseAll().empty());
}

TEST_F(StepLedgerTest, ACommitOfAnUnknownLayerDoesNothing) {
  auto committed = ledger_.Commit("never called", 0.5f);
  ASSERT_TRUE(committed.ok());
  EXPECT_FALSE(committed->took_any);
  EXPECT_TRUE(committed->released.empty());
}

TEST_F(StepLedgerTest, CommitTellsWhetherItTookAny) {
  const Ticket ticket = Open("a");
  EXPECT_FALSE(ledger_.Commit("a", 0.5f)->took_any);
  EXPECT_EQ(Stage("a", ticket).code(), Code::kFailedPrecondition);
  ExpectOk(Stage("a", Open("a")));
  EXPECT_TRUE(ledger_.Commit("a", 0.5f)->took_any);
}

TEST_F(StepLedgerTest, TheNextTrainingLookupDiscardsWhatWasNotCommitted) {
  const Ticket skipped = Open("a");
  ExpectOk(Stage("a", skipped, {3, 4}));
  EXPECT_EQ(ledger_.discarded(), 0u);
  const Ticket next = Open("a");
  EXPECT_EQ(ledger_.discarded(), 1u);
  EXPECT_EQ(Stage("a", skipped).code(), Code::kFailedPrecondition);

  ExpectOk(Stage("a", next, {5, 6}));
  const StepGroup released = Commit("a");
  ASSERT_EQ(released.size(), 1u);
  ASSERT_EQ(released[0].parts.size(), 1u);
  EXPECT_EQ(released[0].parts[0].gradients.vectors.values()[0], 5);
}

TEST_F(StepLedgerTest, AnotherLayersLookupDiscardsNothing) {
  ExpectOk(Stage("a", Open("a")));
  Open("b", kOtherTable);
  EXPECT_EQ(ledger_.discarded(), 0u);
  Commit("a");
  EXPECT_EQ(ledger_.ReleaseAll().size(), 1u);
}

TEST_F(StepLedgerTest, DiscardingLetsGoOfTheGradients) {
  auto owner = std::make_shared<const std::vector<float>>(2);
  const std::weak_ptr<const void> alive = owner;
  SharedGradients gradients;
  gradients.vectors = *owner;
  gradients.owner = std::move(owner);
  ExpectOk(ledger_.Stage("a", Open("a"), std::move(gradients)));
  EXPECT_FALSE(alive.expired());
  Open("a");
  EXPECT_TRUE(alive.expired());
}

TEST_F(StepLedgerTest, ALayerCalledTwiceGivesOneStepOfTwoParts) {
  const Ticket first = Open("a");
  const Ticket second = Open("a");
  EXPECT_NE(first, second);
  ExpectOk(Stage("a", second));
  ExpectOk(Stage("a", first));
  const StepGroup released = Commit("a");
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(released[0].parts.size(), 2u);
}

TEST_F(StepLedgerTest, ACallWhoseOutputIsUnusedDoesNotHoldTheStep) {
  const Ticket used = Open("a");
  const Ticket unused = Open("a");
  ExpectOk(Stage("a", used));
  EXPECT_EQ(Commit("a").size(), 1u);
  EXPECT_EQ(Stage("a", unused).code(), Code::kFailedPrecondition);
}

TEST_F(StepLedgerTest, StagingALookupThatWasNotForTrainingFailsTheCommit) {
  ExpectOk(Stage("a", 0));
  ExpectRefusal("a", "training=True");
  EXPECT_TRUE(Commit("a").empty());
}

TEST_F(StepLedgerTest, ThatRefusalNamesTheLayerAsUsersKnowIt) {
  ExpectOk(Stage("rows#3", 0));
  const std::string message = ledger_.Commit("rows#3", 0.5f).status().message();
  EXPECT_EQ(message.rfind("layer 'rows' must be called for training", 0), 0u);
}

TEST_F(StepLedgerTest, ThatRefusalSaysWhatToWriteInMethodsOfAModel) {
  ExpectOk(Stage("a", 0));
  ExpectRefusal("a", "training=training)` in compute_loss(self, features");
  ExpectOk(Stage("a", 0));
  ExpectRefusal("a", "`self(x, training=True)` in train_step");
}

TEST_F(StepLedgerTest, AGradientOfAnEvaluationAloneIsNoError) {
  ExpectOk(Stage("a", 0));
  ExpectOk(Stage("a", Open("a")));
  EXPECT_EQ(Commit("a").size(), 1u);
}

TEST_F(StepLedgerTest, StagingATicketTwiceFailsTheCommit) {
  const Ticket ticket = Open("a");
  ExpectOk(Stage("a", ticket));
  ExpectOk(Stage("a", ticket));
  ExpectRefusal("a", "twice");
  EXPECT_EQ(ledger_.discarded(), 2u);
  EXPECT_TRUE(Commit("a").empty());
}

TEST_F(StepLedgerTest, ARefusedStepDoesNotSpoilTheNext) {
  const Ticket ticket = Open("a");
  ExpectOk(Stage("a", ticket));
  ExpectOk(Stage("a", ticket));
  ExpectOk(Stage("a", Open("a"), {5, 6}));
  const StepGroup released = Commit("a");
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(released[0].parts.size(), 1u);
}

TEST_F(StepLedgerTest, ATicketIsClosedByItsLayersCommit) {
  const Ticket ticket = Open("a");
  ExpectOk(Stage("a", ticket));
  Commit("a");
  const Status status = Stage("a", ticket);
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_NE(status.message().find("over"), std::string::npos)
      << status.message();
}

TEST_F(StepLedgerTest, GradientsOfAnotherSizeAreRefused) {
  const Ticket ticket = Open("a", kTable, {1, 2, 1});
  const Status status = Stage("a", ticket, {1, 2});
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_NE(status.message().find("3 values"), std::string::npos)
      << status.message();
  EXPECT_NE(status.message().find("received 2"), std::string::npos)
      << status.message();
}

TEST_F(StepLedgerTest, AnEmptyBatchGivesNoStep) {
  ExpectOk(Stage("a", Open("a", kTable, {}), {}));
  EXPECT_TRUE(Commit("a").empty());
}

TEST_F(StepLedgerTest, LayersThatShareATableGiveOneStep) {
  const Ticket a = Open("a");
  const Ticket b = Open("b");
  ExpectOk(Stage("a", a));
  ExpectOk(Stage("b", b));
  EXPECT_TRUE(Commit("a").empty());
  const StepGroup released = Commit("b");
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(released[0].parts.size(), 2u);
}

TEST_F(StepLedgerTest, TheLastCommitReleasesTheStepEvenWithoutGradients) {
  const Ticket a = Open("a");
  Open("b");
  ExpectOk(Stage("a", a));
  EXPECT_TRUE(Commit("a").empty());
  EXPECT_EQ(Commit("b").size(), 1u);
}

TEST_F(StepLedgerTest, TheTablesOfAStepAreReleasedTogether) {
  const Ticket a = Open("a", kTable);
  const Ticket b = Open("b", kOtherTable);
  ExpectOk(Stage("a", a));
  ExpectOk(Stage("b", b));
  EXPECT_TRUE(Commit("a").empty());
  EXPECT_EQ(Commit("b").size(), 2u);
}

TEST_F(StepLedgerTest, TheTablesNextLookupReleasesWhatIsHeld) {
  const Ticket a = Open("a");
  Open("b");
  ExpectOk(Stage("a", a));
  EXPECT_TRUE(Commit("a").empty());
  Open("c", kOtherTable);
  EXPECT_TRUE(released_by_open_.empty());
  Open("a");
  ASSERT_EQ(released_by_open_.size(), 1u);
  EXPECT_EQ(released_by_open_[0].table, kTable);
  EXPECT_TRUE(ledger_.ReleaseAll().empty());
}

TEST_F(StepLedgerTest, WithATableComeOthersThatNobodyWillCommitTo) {
  const Ticket a = Open("a", kTable);
  const Ticket b = Open("b", kOtherTable);
  Open("never stepped", 33);
  ExpectOk(Stage("a", a));
  ExpectOk(Stage("b", b));
  EXPECT_TRUE(Commit("a").empty());
  EXPECT_TRUE(Commit("b").empty());
  Open("a", kTable);
  EXPECT_EQ(released_by_open_.size(), 2u);
}

TEST_F(StepLedgerTest, ReleaseGivesWhatIsHeldOfTheTablesItIsAskedFor) {
  const Ticket a = Open("a");
  Open("b");
  ExpectOk(Stage("a", a));
  EXPECT_TRUE(Commit("a").empty());
  EXPECT_TRUE(ledger_.Release({kOtherTable}).empty());
  EXPECT_EQ(ledger_.Release({kOtherTable, kTable}).size(), 1u);
}

// ---- Replicas and prefetched batches ----

TEST_F(StepLedgerTest, AReplicasLookupDiscardsOnlyItsOwn) {
  const Ticket first = OpenReplica(0);
  ExpectOk(Stage("a", first));
  const Ticket second = OpenReplica(1);
  EXPECT_EQ(ledger_.discarded(), 0u);
  ExpectOk(Stage("a", second));
  const StepGroup released = Commit("a");
  ASSERT_EQ(released.size(), 1u);
  EXPECT_EQ(released[0].parts.size(), 2u);
}

TEST_F(StepLedgerTest, ASkippedStepIsDiscardedByEachReplica) {
  ExpectOk(Stage("a", OpenReplica(0)));
  ExpectOk(Stage("a", OpenReplica(1)));
  ExpectOk(Stage("a", OpenReplica(0)));
  EXPECT_EQ(ledger_.discarded(), 1u);
  ExpectOk(Stage("a", OpenReplica(1)));
  EXPECT_EQ(ledger_.discarded(), 2u);
  EXPECT_EQ(Commit("a").at(0).parts.size(), 2u);
}

TEST_F(StepLedgerTest, ALaterBatchClosesWhatAnEarlierStepLeftOpen) {
  const Ticket stepped = OpenPrefetched("a", kTable, 0);
  const Ticket unused = OpenPrefetched("b", kOtherTable, 0);
  ExpectOk(Stage("a", stepped));
  EXPECT_TRUE(Commit("a").empty());
  const Ticket next = OpenPrefetched("a", kTable, 1);
  EXPECT_EQ(released_by_open_.size(), 1u);
  EXPECT_EQ(Stage("b", unused).code(), Code::kFailedPrecondition);
  ExpectOk(Stage("a", next));
}

TEST_F(StepLedgerTest, ABatchThatNobodySteppedStaysOpen) {
  const Ticket first = OpenPrefetched("a", kTable, 0);
  const Ticket second = OpenPrefetched("a", kTable, 1);
  ExpectOk(Stage("a", first));
  ExpectOk(Stage("a", second));
  EXPECT_EQ(Commit("a").at(0).parts.size(), 2u);
}

TEST_F(StepLedgerTest, AStepThatIsOverFreesItsBatchsSlot) {
  int freed = 0;
  const Ticket ticket = OpenPrefetched("a", kTable, 0, [&freed] { ++freed; });
  slots_.clear();
  ExpectOk(Stage("a", ticket));
  StepGroup released = Commit("a");
  EXPECT_EQ(freed, 0);
  released.clear();
  EXPECT_EQ(freed, 1);
}

TEST_F(StepLedgerTest, ReleaseAllReleasesWhatIsHeld) {
  const Ticket a = Open("a");
  Open("b");
  const Ticket c = Open("c", kOtherTable);
  Open("d", kOtherTable);
  ExpectOk(Stage("a", a));
  ExpectOk(Stage("c", c));
  EXPECT_TRUE(Commit("a").empty());
  EXPECT_TRUE(Commit("c").empty());
  EXPECT_EQ(ledger_.ReleaseAll().size(), 2u);
  EXPECT_TRUE(ledger_.ReleaseAll().empty());
}

TEST_F(StepLedgerTest, TheOldestOfTooManyTicketsIsForgotten) {
  const Ticket oldest = Open("a");
  const Ticket second = Open("a");
  for (size_t i = 2; i < StepLedger::kMaxOpenTickets; ++i) Open("a");
  ExpectOk(Stage("b", Open("b", kOtherTable)));  // Of another layer.
  Open("a");
  EXPECT_EQ(Stage("a", oldest).code(), Code::kFailedPrecondition);
  ExpectOk(Stage("a", second));
  Commit("a");
  EXPECT_EQ(ledger_.ReleaseAll().size(), 1u);
}

TEST_F(StepLedgerTest, AForgottenTicketDoesNotHoldItsTable) {
  for (size_t i = 0; i < StepLedger::kMaxOpenTickets + 5; ++i) Open("a");
  Commit("a");
  ExpectOk(Stage("b", Open("b")));
  EXPECT_EQ(Commit("b").size(), 1u);
}

}  // namespace
}  // namespace persia
