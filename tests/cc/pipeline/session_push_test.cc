#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "cc/pipeline/push_queue.h"
#include "cc/pipeline/session.h"
#include "tests/cc/pipeline/session_fixture.h"

namespace persia {
namespace {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

class SessionPushTest : public SessionFixture {};

// ---- Commit ----

TEST_F(SessionPushTest, PushesNothingWithoutACommit) {
  Stage("a", {1});
  ExpectOk(session_->Flush());
  EXPECT_EQ(control_->updates(), 0u);
}

TEST_F(SessionPushTest, PushesWhatWasStagedSummed) {
  ExpectOk(Step("a", {3, 4, 3}).status());
  ExpectOk(session_->Flush());
  const std::vector<SeenUpdate> updates = control_->WaitForUpdates(1);
  ASSERT_EQ(updates.at(0).tables.size(), 1u);
  EXPECT_EQ(updates.at(0).tables.at(0).table, kTable);
  EXPECT_EQ(updates.at(0).tables.at(0).ids, (Ids{3, 4}));
  EXPECT_EQ(updates.at(0).tables.at(0).gradients, (Floats{2, 1}));
  EXPECT_EQ(updates.at(0).tables.at(0).learning_rate, 0.5f);
}

TEST_F(SessionPushTest, DiscardsAStepThatWasSkipped) {
  Stage("a", {1});
  ExpectOk(Step("a", {2}).status());
  ExpectOk(session_->Flush());
  const std::vector<SeenUpdate> updates = control_->WaitForUpdates(1);
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_EQ(updates.at(0).tables.at(0).ids, (Ids{2}));
  EXPECT_EQ(session_->Counters().gradients_discarded, 1u);
}

TEST_F(SessionPushTest, CommitsSeveralLayersEachWithItsStep) {
  Stage("a", {1});
  Stage("b", {2}, kOtherTable);
  Outcome outcome;
  const std::vector<std::string> layers = {"a", "b"};
  const std::vector<OptimizerStep> steps = {0.5f, 0.25f};
  session_->Commit(layers, steps, outcome.done());
  ExpectOk(outcome.status());
  ExpectOk(session_->Flush());
  const std::vector<SeenUpdate> updates = control_->WaitForUpdates(1);
  ASSERT_EQ(updates.at(0).tables.size(), 2u);
  EXPECT_EQ(updates.at(0).tables.at(0).learning_rate, 0.5f);
  EXPECT_EQ(updates.at(0).tables.at(1).learning_rate, 0.25f);
}

// As when a TensorFlow function is dropped once it has ended: the layers' names
// are its kernel's.
TEST_F(SessionPushTest, TheEndOfACommitMayFreeTheLayers) {
  std::vector<std::string> layers = {"a"};
  const std::vector<OptimizerStep> steps = {0.5f};
  Outcome outcome;
  session_->Commit(layers, steps,
                   [&layers, done = outcome.done()](const Status& status) {
                     // What reads `layers` after this commits more of them.
                     layers.assign(100, "freed");
                     done(status);
                   });
  ExpectOk(outcome.status());
}

TEST_F(SessionPushTest, RefusesToCommitALookupThatWasNotForTraining) {
  const auto lookup = StartReadOnly({1});
  ExpectOk(session_->Stage("reader", lookup->ticket, MakeGradients({1})));
  const Outcome commit = Commit("reader");
  EXPECT_EQ(commit.status().code(), Code::kFailedPrecondition);
  ExpectMessage(commit.status(), "training=True");
}

TEST_F(SessionPushTest, ALayerCalledTwiceIsPushedOnce) {
  const auto first = StartTraining("a", {1, 2});
  const auto second = StartTraining("a", {2});
  ExpectOk(session_->Stage("a", first->ticket, MakeGradients({1, 10})));
  ExpectOk(session_->Stage("a", second->ticket, MakeGradients({100})));
  ExpectOk(Commit("a").status());
  ExpectOk(session_->Flush());
  const std::vector<SeenUpdate> updates = control_->WaitForUpdates(1);
  ASSERT_EQ(updates.at(0).tables.size(), 1u);
  EXPECT_EQ(updates.at(0).tables.at(0).ids, (Ids{1, 2}));
  EXPECT_EQ(updates.at(0).tables.at(0).gradients, (Floats{1, 110}));
}

TEST_F(SessionPushTest, LayersThatShareATableArePushedOnce) {
  Stage("a", {1, 2});
  Stage("b", {2, 3});
  ExpectOk(Commit("a").status());
  ExpectOk(Commit("b").status());
  ExpectOk(session_->Flush());
  const std::vector<SeenUpdate> updates = control_->WaitForUpdates(1);
  ASSERT_EQ(updates.size(), 1u);
  ASSERT_EQ(updates.at(0).tables.size(), 1u);
  EXPECT_EQ(updates.at(0).tables.at(0).ids, (Ids{1, 2, 3}));
  EXPECT_EQ(updates.at(0).tables.at(0).gradients, (Floats{1, 2, 1}));
}

TEST_F(SessionPushTest, AStepThatIsHeldIsPushedByTheNextLookup) {
  const auto frozen = StartTraining("frozen", {9});
  ExpectOk(frozen->outcome.status());
  ExpectOk(Step("a", {1}).status());
  EXPECT_EQ(control_->updates(), 0u);
  StartTraining("a", {2});
  EXPECT_EQ(control_->WaitForUpdates(1).at(0).tables.at(0).ids, (Ids{1}));
}

TEST_F(SessionPushTest, AModelThatNobodyStepsDelaysEachUpdateByOneLookup) {
  StartTraining("never stepped", {9}, kOtherTable);
  for (size_t step = 1; step <= 3; ++step) {
    ExpectOk(Step("a", {1}).status());
    EXPECT_EQ(control_->WaitForUpdates(step - 1).size(), step - 1);
    StartTraining("a", {2});
    control_->WaitForUpdates(step);
  }
}

TEST_F(SessionPushTest, AStepThatIsHeldIsPushedByFlush) {
  StartTraining("frozen", {9});
  ExpectOk(Step("a", {1}).status());
  ExpectOk(session_->Flush());
  EXPECT_EQ(control_->updates(), 1u);
}

TEST_F(SessionPushTest, AnEvaluationSeesAStepThatIsHeld) {
  StartTraining("frozen", {9});
  ExpectOk(Step("a", {1}).status());
  control_->HoldUpdates(true);
  const auto evaluation = StartReadOnly({1});
  control_->WaitForUpdates(1);
  EXPECT_FALSE(evaluation->outcome.ready());
  EXPECT_EQ(control_->lookups(), 2u);
  control_->CompleteUpdate();
  ExpectOk(evaluation->outcome.status());
}

TEST_F(SessionPushTest, AnUpdateCarriesItsLookupsGeneration) {
  control_->SetGeneration(7);
  Stage("a", {1});
  control_->SetGeneration(8);
  ExpectOk(Commit("a").status());
  ExpectOk(session_->Flush());
  EXPECT_EQ(control_->WaitForUpdates(1).at(0).generation, 7u);
}

// ---- Staleness ----

TEST_F(SessionPushTest, WithoutStalenessACommitIsAcknowledged) {
  MakeSession(0);
  const Outcome commit = HeldStep("a", {1});
  EXPECT_FALSE(commit.ready());
  control_->CompleteUpdate();
  ExpectOk(commit.status());
}

TEST_F(SessionPushTest, AStalenessOfTwoLetsTwoStepsPass) {
  MakeSession(2);
  EXPECT_TRUE(HeldStep("a", {1}).ready());
  EXPECT_TRUE(Step("a", {2}).ready());
  EXPECT_TRUE(Step("a", {3}).ready());
  const auto fourth = StartTraining("a", {4});
  EXPECT_FALSE(fourth->outcome.ready());
  control_->WaitForUpdates(3);
  control_->CompleteUpdate();
  ExpectOk(fourth->outcome.status());
  const StalenessHistogram staleness = session_->Counters().staleness;
  EXPECT_EQ(staleness.max, 2u);
  EXPECT_EQ(staleness.batches[0], 1u);
  EXPECT_EQ(staleness.batches[1], 1u);
  EXPECT_EQ(staleness.batches[2], 2u);
}

TEST_F(SessionPushTest, OneTablesPushesDoNotTakeTheRoomOfAnothers) {
  MakeSession(0);
  HeldStep("a", {1});
  EXPECT_TRUE(StartTraining("b", {1}, kOtherTable)->outcome.ready());
  control_->HoldUpdates(false);
  control_->CompleteUpdate();
}

TEST_F(SessionPushTest, TheTablesOfAStepAreOneUpdate) {
  Stage("a", {1});
  Stage("b", {2}, kOtherTable);
  ExpectOk(Commit("a").status());
  ExpectOk(Commit("b").status());
  ExpectOk(session_->Flush());
  const std::vector<SeenUpdate> updates = control_->WaitForUpdates(1);
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_EQ(updates.at(0).tables.size(), 2u);
}

TEST_F(SessionPushTest, ATrainingLookupWaitsForRoom) {
  MakeSession(0);
  const auto frozen = StartTraining("frozen", {9});
  ExpectOk(Step("a", {1}).status());  // Push is held back: no wait.
  control_->HoldUpdates(true);
  const auto next = StartTraining("a", {1});
  control_->WaitForUpdates(1);
  EXPECT_FALSE(next->outcome.ready());
  EXPECT_EQ(control_->lookups(), 2u);
  control_->CompleteUpdate();
  ExpectOk(next->outcome.status());
  EXPECT_EQ(control_->lookups(), 3u);
}

TEST_F(SessionPushTest, AReadOnlyLookupWaitsForPendingPushes) {
  HeldStep("a", {1});
  const size_t before = control_->lookups();
  const auto evaluation = StartReadOnly({1});
  EXPECT_FALSE(evaluation->outcome.ready());
  EXPECT_EQ(control_->lookups(), before);
  control_->CompleteUpdate();
  ExpectOk(evaluation->outcome.status());
  EXPECT_EQ(evaluation->rows, (Floats{1}));
  EXPECT_NE(evaluation->outcome.thread(), control_->service_thread());
}

TEST_F(SessionPushTest, LaterStepsDoNotProlongAnEvaluationsWait) {
  HeldStep("a", {1});
  const auto evaluation = StartReadOnly({1});
  Step("a", {2});
  control_->WaitForUpdates(2);
  EXPECT_FALSE(evaluation->outcome.ready());
  control_->CompleteUpdate();
  ExpectOk(evaluation->outcome.status());
}

// ---- Errors of pushes ----

TEST_F(SessionPushTest, AFailedPushFailsTheCommitThatWaitsForIt) {
  MakeSession(0);
  const Outcome commit = HeldStep("a", {1});
  control_->CompleteUpdate(Status(Code::kUnavailable, "shard 3 is gone"));
  EXPECT_EQ(commit.status().code(), Code::kUnavailable);
  ExpectMessage(commit.status(), "shard 3 is gone");
}

// The original PERSIA logged a failed push, and lost its update.
TEST_F(SessionPushTest, AFailedPushFailsEveryCallUntilFlushReportsIt) {
  HeldStep("a", {1});
  const auto next = StartTraining("a", {2});
  const auto waiting = StartReadOnly({1});
  control_->CompleteUpdate(Status(Code::kUnavailable, "shard 3 is gone"));
  ExpectMessage(waiting->outcome.status(), "shard 3 is gone");

  ExpectMessage(StartTraining("a", {2})->outcome.status(), "shard 3 is gone");
  ExpectMessage(StartReadOnly({2})->outcome.status(), "shard 3 is gone");
  ExpectMessage(session_->Stage("a", next->ticket, MakeGradients({1})),
                "shard 3 is gone");
  ExpectMessage(Commit("a").status(), "shard 3 is gone");
  ExpectMessage(Commit("never called").status(), "shard 3 is gone");
  ExpectMessage(session_->Flush(), "shard 3 is gone");
  ExpectOk(session_->Flush());
}

TEST_F(SessionPushTest, TrainsOnAfterAnErrorWasReported) {
  HeldStep("a", {1});
  control_->HoldUpdates(false);
  control_->CompleteUpdate(Status(Code::kUnavailable, "gone"));
  EXPECT_FALSE(session_->Flush().ok());
  ExpectOk(Step("a", {2}).status());
  ExpectOk(session_->Flush());
  EXPECT_EQ(control_->WaitForUpdates(2).at(1).tables.at(0).ids, (Ids{2}));
}

TEST_F(SessionPushTest, ACommitBehindAnErrorPushesNothing) {
  HeldStep("a", {1});
  Stage("a", {2});
  const auto waiting = StartReadOnly({1});
  control_->CompleteUpdate(Status(Code::kUnavailable, "gone"));
  EXPECT_FALSE(waiting->outcome.status().ok());
  EXPECT_FALSE(Commit("a").status().ok());
  EXPECT_FALSE(session_->Flush().ok());

  control_->HoldUpdates(false);
  ExpectOk(Step("a", {3}).status());
  ExpectOk(session_->Flush());
  const std::vector<SeenUpdate> updates = control_->WaitForUpdates(2);
  ASSERT_EQ(updates.size(), 2u);
  EXPECT_EQ(updates.at(1).tables.at(0).ids, (Ids{3}));
}

TEST_F(SessionPushTest, StepsQueuedBehindAnErrorAreDroppedAndCounted) {
  MakeSession(2 * PushQueue::kMaxInFlight);
  for (size_t i = 0; i < PushQueue::kMaxInFlight; ++i) HeldStep("a", {1});
  Step("a", {2});
  Step("a", {3});
  const auto failing = StartReadOnly({1});
  control_->CompleteUpdate(Status(Code::kUnavailable, "gone"));
  EXPECT_FALSE(failing->outcome.status().ok());
  control_->ReleaseAll();
  ExpectMessage(session_->Flush(), "updates dropped after it: 2");
  EXPECT_EQ(control_->updates(), PushQueue::kMaxInFlight);
}

}  // namespace
}  // namespace persia
