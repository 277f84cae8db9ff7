#include "cc/pipeline/session.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/base/hash.h"
#include "tests/cc/pipeline/session_fixture.h"

namespace persia {
namespace {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

class SessionTest : public SessionFixture {
 protected:
  SessionTest() { MakeSession(4); }

  void ExpectMessage(const Status& status, const char* part) {
    EXPECT_NE(status.message().find(part), std::string::npos)
        << status.message();
  }
};

// ---- Lookup ----

TEST_F(SessionTest, LooksUpUniqueIdsAndSpreadsTheirRows) {
  LookupCall call;
  call.layer = "a";
  call.table = kTable;
  call.dim = 2;
  call.training = true;
  const auto lookup = Start(call, {7, -3, 7});
  ExpectOk(lookup->outcome.status());
  EXPECT_EQ(lookup->rows, (Floats{7, 7, -3, -3, 7, 7}));

  const std::vector<SeenLookup> seen = control_->WaitForLookups(1);
  ASSERT_EQ(seen[0].tables.size(), 1u);
  EXPECT_FALSE(seen[0].read_only);
  EXPECT_EQ(seen[0].tables[0].table, kTable);
  EXPECT_EQ(seen[0].tables[0].dim, 2u);
  EXPECT_EQ(seen[0].tables[0].ids, (Ids{7, -3}));
}

TEST_F(SessionTest, FillsTheOutputWithoutDuplicatesToo) {
  const auto lookup = StartTraining("a", {5, 6});
  ExpectOk(lookup->outcome.status());
  EXPECT_EQ(lookup->rows, (Floats{5, 6}));
}

TEST_F(SessionTest, OnlyTrainingLookupsGetTickets) {
  EXPECT_NE(StartTraining("a", {1})->outcome.ticket(), 0);
  EXPECT_EQ(StartReadOnly({1})->outcome.ticket(), 0);
  EXPECT_TRUE(control_->WaitForLookups(2)[1].read_only);
}

TEST_F(SessionTest, AnEmptyBatchAsksAndPushesNothing) {
  const auto lookup = StartTraining("a", {});
  ExpectOk(lookup->outcome.status());
  ExpectOk(session_->Stage("a", lookup->outcome.ticket(), MakeGradients({})));
  ExpectOk(Commit("a").status());
  ExpectOk(session_->Flush());
  EXPECT_EQ(control_->lookups(), 0u);
  EXPECT_EQ(control_->updates(), 0u);
}

TEST_F(SessionTest, RefusesABatchThatIsTooLarge) {
  const int64_t id = 0;
  LookupCall call;
  call.layer = "a";
  call.ids = Span<const int64_t>(&id, size_t{1} << 31);  // Not read.
  Outcome outcome;
  session_->Lookup(call, outcome.ticket_done());
  EXPECT_EQ(outcome.status().code(), Code::kInvalidArgument);
  ExpectMessage(outcome.status(), "received 2147483648");
}

TEST_F(SessionTest, ALookupThatFailsSaysWhy) {
  control_->HoldLookups(true);
  const auto lookup = StartTraining("a", {1});
  control_->CompleteLookup(Status(Code::kUnavailable, "shard 2 is gone"));
  EXPECT_EQ(lookup->outcome.status().code(), Code::kUnavailable);
  ExpectMessage(lookup->outcome.status(), "shard 2 is gone");
  EXPECT_EQ(lookup->outcome.ticket(), 0);
}

// ---- Threads of callbacks ----

TEST_F(SessionTest, AnOutcomeThatIsKnownAtOnceComesOnTheCallersThread) {
  EXPECT_EQ(StartTraining("a", {1})->outcome.thread(),
            std::this_thread::get_id());
  EXPECT_EQ(StartReadOnly({1})->outcome.thread(), std::this_thread::get_id());
  EXPECT_EQ(Step("a", {1}).thread(), std::this_thread::get_id());
}

TEST_F(SessionTest, ALateLookupCompletesOnALentThread) {
  control_->HoldLookups(true);
  const auto lookup = StartTraining("a", {1, 1});
  control_->CompleteLookup();
  ExpectOk(lookup->outcome.status());
  EXPECT_EQ(lookup->rows, (Floats{1, 1}));
  EXPECT_NE(lookup->outcome.thread(), control_->service_thread());
  EXPECT_NE(lookup->outcome.thread(), std::this_thread::get_id());
}

TEST_F(SessionTest, ALateCommitCompletesOnALentThread) {
  MakeSession(0);
  const Outcome commit = HeldStep("a", {1});
  control_->CompleteUpdate();
  ExpectOk(commit.status());
  EXPECT_NE(commit.thread(), control_->service_thread());
  EXPECT_NE(commit.thread(), std::this_thread::get_id());
}

TEST_F(SessionTest, WhatACallbackHoldsEndsOffTheServicesThread) {
  control_->HoldLookups(true);
  Outcome ended;
  std::shared_ptr<void> capture(
      nullptr, [done = ended.done()](void*) { done(Status()); });
  std::vector<float> row(1);
  const std::vector<int64_t> ids{1};
  LookupCall call;
  call.layer = "a";
  call.dim = 1;
  call.ids = ids;
  call.rows = row;
  session_->Lookup(call, [capture = std::move(capture)](Status, Ticket) {});
  control_->CompleteLookup();
  EXPECT_NE(ended.thread(), control_->service_thread());
}

TEST_F(SessionTest, ACallbackMayCallTheSessionAndBlock) {
  MakeSession(0);
  control_->HoldUpdates(true);
  Stage("a", {1});
  Outcome flushed;
  session_->Commit("a", 0.5f, [&](const Status& status) {
    ExpectOk(status);
    flushed.done()(session_->Flush());
  });
  control_->WaitForUpdates(1);
  Step("b", {2}, kOtherTable);
  control_->CompleteUpdate();  // The callback now waits for the second.
  control_->WaitForUpdates(2);
  EXPECT_FALSE(flushed.ready());
  control_->CompleteUpdate();
  ExpectOk(flushed.status());
}

// ---- Commit ----

TEST_F(SessionTest, PushesNothingWithoutACommit) {
  Stage("a", {1});
  ExpectOk(session_->Flush());
  EXPECT_EQ(control_->updates(), 0u);
}

TEST_F(SessionTest, PushesWhatWasStagedSummed) {
  ExpectOk(Step("a", {3, 4, 3}).status());
  ExpectOk(session_->Flush());
  const std::vector<SeenUpdate> updates = control_->WaitForUpdates(1);
  ASSERT_EQ(updates[0].tables.size(), 1u);
  EXPECT_EQ(updates[0].tables[0].table, kTable);
  EXPECT_EQ(updates[0].tables[0].ids, (Ids{3, 4}));
  EXPECT_EQ(updates[0].tables[0].gradients, (Floats{2, 1}));
  EXPECT_EQ(updates[0].tables[0].learning_rate, 0.5f);
}

TEST_F(SessionTest, DiscardsAStepThatWasSkipped) {
  Stage("a", {1});
  ExpectOk(Step("a", {2}).status());
  ExpectOk(session_->Flush());
  const std::vector<SeenUpdate> updates = control_->WaitForUpdates(1);
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_EQ(updates[0].tables[0].ids, (Ids{2}));
  EXPECT_EQ(session_->Counters().discarded, 1u);
}

TEST_F(SessionTest, RefusesToCommitALookupThatWasNotForTraining) {
  const auto lookup = StartReadOnly({1});
  ExpectOk(
      session_->Stage("reader", lookup->outcome.ticket(), MakeGradients({1})));
  const Outcome commit = Commit("reader");
  EXPECT_EQ(commit.status().code(), Code::kFailedPrecondition);
  ExpectMessage(commit.status(), "training=True");
}

TEST_F(SessionTest, ALayerCalledTwiceIsPushedOnce) {
  const auto first = StartTraining("a", {1, 2});
  const auto second = StartTraining("a", {2});
  ExpectOk(
      session_->Stage("a", first->outcome.ticket(), MakeGradients({1, 10})));
  ExpectOk(
      session_->Stage("a", second->outcome.ticket(), MakeGradients({100})));
  ExpectOk(Commit("a").status());
  ExpectOk(session_->Flush());
  const std::vector<SeenUpdate> updates = control_->WaitForUpdates(1);
  ASSERT_EQ(updates[0].tables.size(), 1u);
  EXPECT_EQ(updates[0].tables[0].ids, (Ids{1, 2}));
  EXPECT_EQ(updates[0].tables[0].gradients, (Floats{1, 110}));
}

TEST_F(SessionTest, LayersThatShareATableArePushedOnce) {
  Stage("a", {1, 2});
  Stage("b", {2, 3});
  ExpectOk(Commit("a").status());
  ExpectOk(Commit("b").status());
  ExpectOk(session_->Flush());
  const std::vector<SeenUpdate> updates = control_->WaitForUpdates(1);
  ASSERT_EQ(updates.size(), 1u);
  ASSERT_EQ(updates[0].tables.size(), 1u);
  EXPECT_EQ(updates[0].tables[0].ids, (Ids{1, 2, 3}));
  EXPECT_EQ(updates[0].tables[0].gradients, (Floats{1, 2, 1}));
}

TEST_F(SessionTest, AStepThatIsHeldIsPushedByTheNextLookup) {
  const auto frozen = StartTraining("frozen", {9});
  ExpectOk(frozen->outcome.status());
  ExpectOk(Step("a", {1}).status());
  EXPECT_EQ(control_->updates(), 0u);
  StartTraining("a", {2});
  EXPECT_EQ(control_->WaitForUpdates(1)[0].tables[0].ids, (Ids{1}));
}

TEST_F(SessionTest, AStepThatIsHeldIsPushedByFlush) {
  StartTraining("frozen", {9});
  ExpectOk(Step("a", {1}).status());
  ExpectOk(session_->Flush());
  EXPECT_EQ(control_->updates(), 1u);
}

TEST_F(SessionTest, AnEvaluationSeesAStepThatIsHeld) {
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

TEST_F(SessionTest, AnUpdateCarriesItsLookupsGeneration) {
  control_->SetGeneration(7);
  Stage("a", {1});
  control_->SetGeneration(8);
  ExpectOk(Commit("a").status());
  ExpectOk(session_->Flush());
  EXPECT_EQ(control_->WaitForUpdates(1)[0].generation, 7u);
}

// ---- Staleness ----

TEST_F(SessionTest, WithoutPendingPushesACommitIsAcknowledged) {
  MakeSession(0);
  const Outcome commit = HeldStep("a", {1});
  EXPECT_FALSE(commit.ready());
  control_->CompleteUpdate();
  ExpectOk(commit.status());
}

TEST_F(SessionTest, TwoPendingPushesLetTwoCommitsThrough) {
  MakeSession(2);
  EXPECT_TRUE(HeldStep("a", {1}).ready());
  EXPECT_TRUE(Step("a", {2}).ready());
  const Outcome third = Step("a", {3});
  EXPECT_FALSE(third.ready());
  control_->CompleteUpdate();
  ExpectOk(third.status());
  control_->WaitForUpdates(2);
  control_->CompleteUpdate();
}

TEST_F(SessionTest, OneTablesPushesDoNotTakeTheRoomOfAnothers) {
  MakeSession(1);
  EXPECT_TRUE(HeldStep("a", {1}).ready());
  EXPECT_TRUE(Step("b", {1}, kOtherTable).ready());
  control_->HoldUpdates(false);
  control_->CompleteUpdate();
}

TEST_F(SessionTest, ATrainingLookupWaitsForRoom) {
  MakeSession(0);
  const auto frozen = StartTraining("frozen", {9});
  ExpectOk(Step("a", {1}).status());  // Held, so it did not wait.
  control_->HoldUpdates(true);
  const auto next = StartTraining("a", {1});
  control_->WaitForUpdates(1);
  EXPECT_FALSE(next->outcome.ready());
  EXPECT_EQ(control_->lookups(), 2u);
  control_->CompleteUpdate();
  ExpectOk(next->outcome.status());
  EXPECT_EQ(control_->lookups(), 3u);
}

TEST_F(SessionTest, AReadOnlyLookupWaitsForPendingPushes) {
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

// ---- Errors of pushes ----

TEST_F(SessionTest, AFailedPushFailsTheCommitThatWaitsForIt) {
  MakeSession(0);
  const Outcome commit = HeldStep("a", {1});
  control_->CompleteUpdate(Status(Code::kUnavailable, "shard 3 is gone"));
  EXPECT_EQ(commit.status().code(), Code::kUnavailable);
  ExpectMessage(commit.status(), "shard 3 is gone");
}

TEST_F(SessionTest, AFailedPushFailsEveryCallUntilFlushReportsIt) {
  HeldStep("a", {1});
  const auto next = StartTraining("a", {2});
  const auto waiting = StartReadOnly({1});
  control_->CompleteUpdate(Status(Code::kUnavailable, "shard 3 is gone"));
  ExpectMessage(waiting->outcome.status(), "shard 3 is gone");

  ExpectMessage(StartTraining("a", {2})->outcome.status(), "shard 3 is gone");
  ExpectMessage(StartReadOnly({2})->outcome.status(), "shard 3 is gone");
  ExpectMessage(
      session_->Stage("a", next->outcome.ticket(), MakeGradients({1})),
      "shard 3 is gone");
  ExpectMessage(Commit("a").status(), "shard 3 is gone");
  ExpectMessage(Commit("never called").status(), "shard 3 is gone");
  ExpectMessage(session_->Flush(), "shard 3 is gone");
  ExpectOk(session_->Flush());
}

TEST_F(SessionTest, TrainsOnAfterAnErrorWasReported) {
  HeldStep("a", {1});
  control_->HoldUpdates(false);
  control_->CompleteUpdate(Status(Code::kUnavailable, "gone"));
  EXPECT_FALSE(session_->Flush().ok());
  ExpectOk(Step("a", {2}).status());
  ExpectOk(session_->Flush());
  EXPECT_EQ(control_->WaitForUpdates(2)[1].tables[0].ids, (Ids{2}));
}

TEST_F(SessionTest, ACommitBehindAnErrorPushesNothing) {
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
  EXPECT_EQ(updates[1].tables[0].ids, (Ids{3}));
}

TEST_F(SessionTest, StepsQueuedBehindAnErrorAreDroppedAndCounted) {
  HeldStep("a", {1});
  Step("a", {2});
  Step("a", {3});
  control_->CompleteUpdate(Status(Code::kUnavailable, "gone"));
  ExpectMessage(session_->Flush(), "updates dropped behind it: 2");
  EXPECT_EQ(control_->updates(), 1u);
}

// ---- The session's end ----

TEST_F(SessionTest, EndsByCompletingLookupsThatAreUnderWay) {
  control_->HoldLookups(true);
  const auto training = StartTraining("a", {1, 1});
  const auto reading = StartReadOnly({1});
  session_.reset();
  EXPECT_TRUE(training->outcome.ready());
  EXPECT_EQ(training->outcome.status().code(), Code::kCancelled);
  EXPECT_TRUE(reading->outcome.ready());
  EXPECT_EQ(reading->outcome.status().code(), Code::kCancelled);
}

TEST_F(SessionTest, EndsBySendingWhatWasCommitted) {
  StartTraining("frozen", {9});
  Step("a", {1});  // Held.
  session_.reset();
  EXPECT_EQ(control_->WaitForUpdates(1)[0].tables[0].ids, (Ids{1}));
}

TEST_F(SessionTest, EndsByCompletingLookupsThatWaitForPushes) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    MakeSession(0);
    const Outcome commit = HeldStep("a", {1});
    control_->HoldLookups(true);
    const auto reading = StartReadOnly({1});
    std::thread ending([&] { session_.reset(); });
    control_->CompleteUpdate();
    ending.join();
    EXPECT_TRUE(commit.ready());
    ExpectOk(commit.status());
    EXPECT_TRUE(reading->outcome.ready());
    EXPECT_EQ(reading->outcome.status().code(), Code::kCancelled);
    control_->HoldLookups(false);
  }
}

// ---- Counters, tables, stats ----

TEST_F(SessionTest, CountsWhatPassesThrough) {
  UpdateCounts counts;
  counts.nonfinite = 2;
  counts.absent = 3;
  control_->SetCounts(counts);
  StartReadOnly({1});
  Stage("a", {1});
  ExpectOk(Step("a", {2}).status());
  ExpectOk(Commit("a").status());  // Of nothing.
  ExpectOk(session_->Flush());
  const SessionCounters counters = session_->Counters();
  EXPECT_EQ(counters.training_lookups, 2u);
  EXPECT_EQ(counters.readonly_lookups, 1u);
  EXPECT_EQ(counters.committed, 1u);
  EXPECT_EQ(counters.pushed, 1u);
  EXPECT_EQ(counters.discarded, 1u);
  EXPECT_EQ(counters.nonfinite, 2u);
  EXPECT_EQ(counters.absent, 3u);
}

TEST_F(SessionTest, CountsEveryCommitOfASharedTable) {
  Stage("a", {1});
  Stage("b", {2});
  ExpectOk(Commit("a").status());
  ExpectOk(Commit("b").status());
  ExpectOk(session_->Flush());
  EXPECT_EQ(session_->Counters().committed, 2u);
  EXPECT_EQ(session_->Counters().pushed, 1u);
}

TEST_F(SessionTest, CreateTableTellsTheRowsThatItHeld) {
  TableConfig config;
  config.seed = 42;  // The fake service's answer.
  auto rows = session_->CreateTable(config);
  ASSERT_TRUE(rows.ok());
  EXPECT_EQ(*rows, 42u);
}

TEST_F(SessionTest, StatsAreTheServices) {
  std::vector<ServiceStats> processes;
  ExpectOk(session_->Stats(&processes));
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].address, "fake");
}

}  // namespace
}  // namespace persia
