#include "cc/pipeline/session.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cc/pipeline/session_fixture.h"

namespace persia {
namespace {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

class SessionTest : public SessionFixture {};

TEST_F(SessionTest, StepsOfALayerThatIsRetiredFailAndSayWhy) {
  Stage("gone", {1});
  const auto stream = session_->OpenStream(StreamOptions());
  ASSERT_TRUE(stream.ok());
  session_->Retire("gone", Status(Code::kNotFound, "its table went"));
  PrefetchIds ahead;
  ahead.layer = "gone";
  ahead.table = kTable;
  ahead.dim = 1;
  for (const Status& status :
       {StartTraining("gone", {1})->outcome.status(), Commit("gone").status(),
        session_->Prefetch(*stream, {ahead})}) {
    EXPECT_EQ(status.code(), Code::kNotFound);
    ExpectMessage(status, "its table went");
  }
  ExpectOk(Step("other", {1}).status());
  session_->CloseStream(*stream);
}

// ---- Lookup ----

TEST_F(SessionTest, LooksUpUniqueIdsAndSpreadsTheirRows) {
  LayerCall call;
  call.layer = "a";
  call.table = kTable;
  call.dim = 2;
  call.training = true;
  const auto lookup = Start(call, {7, -3, 7});
  ExpectOk(lookup->outcome.status());
  EXPECT_EQ(lookup->rows, (Floats{7, 7, -3, -3, 7, 7}));

  const std::vector<SeenLookup> seen = control_->WaitForLookups(1);
  ASSERT_EQ(seen.at(0).tables.size(), 1u);
  EXPECT_FALSE(seen.at(0).read_only);
  EXPECT_EQ(seen.at(0).tables.at(0).table, kTable);
  EXPECT_EQ(seen.at(0).tables.at(0).dim, 2u);
  EXPECT_EQ(seen.at(0).tables.at(0).ids, (Ids{7, -3}));
}

TEST_F(SessionTest, FillsTheOutputWithoutDuplicatesToo) {
  const auto lookup = StartTraining("a", {5, 6});
  ExpectOk(lookup->outcome.status());
  EXPECT_EQ(lookup->rows, (Floats{5, 6}));
}

TEST_F(SessionTest, OnlyTrainingLookupsGetTickets) {
  EXPECT_NE(StartTraining("a", {1})->ticket, 0);
  EXPECT_EQ(StartReadOnly({1})->ticket, 0);
  EXPECT_TRUE(control_->WaitForLookups(2).at(1).read_only);
}

TEST_F(SessionTest, AnEmptyBatchAsksAndPushesNothing) {
  const auto lookup = StartTraining("a", {});
  ExpectOk(lookup->outcome.status());
  ExpectOk(session_->Stage("a", lookup->ticket, MakeGradients({})));
  ExpectOk(Commit("a").status());
  ExpectOk(session_->Flush());
  EXPECT_EQ(control_->lookups(), 0u);
  EXPECT_EQ(control_->updates(), 0u);
}

TEST_F(SessionTest, RefusesABatchThatIsTooLarge) {
  const int64_t id = 0;
  LayerCall call;
  call.layer = "a";
  call.ids = Span<const int64_t>(&id, size_t{1} << 31);  // Not read.
  const Status status = session_->Issue(call).status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  ExpectMessage(status, "received 2147483648");
}

TEST_F(SessionTest, ALookupThatFailsSaysWhy) {
  control_->HoldLookups(true);
  const auto lookup = StartTraining("a", {1});
  control_->CompleteLookup(Status(Code::kUnavailable, "shard 2 is gone"));
  EXPECT_EQ(lookup->outcome.status().code(), Code::kUnavailable);
  ExpectMessage(lookup->outcome.status(), "shard 2 is gone");
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
  LayerCall call;
  call.layer = "a";
  call.dim = 1;
  call.ids = ids;
  auto issued = session_->Issue(call);
  ASSERT_TRUE(issued.ok());
  session_->Fetch(issued->lookup, row,
                  [capture = std::move(capture)](const Status&) {});
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
  control_->CompleteUpdate();  // Flush now waits for the second update.
  control_->WaitForUpdates(2);
  EXPECT_FALSE(flushed.ready());
  control_->CompleteUpdate();
  ExpectOk(flushed.status());
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
  EXPECT_EQ(control_->WaitForUpdates(1).at(0).tables.at(0).ids, (Ids{1}));
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
  EXPECT_EQ(counters.updates, 1u);
  EXPECT_EQ(counters.gradients_discarded, 1u);
  EXPECT_EQ(counters.gradients_nonfinite, 2u);
  EXPECT_EQ(counters.gradients_absent, 3u);
}

TEST_F(SessionTest, CountsEveryCommitOfASharedTable) {
  Stage("a", {1});
  Stage("b", {2});
  ExpectOk(Commit("a").status());
  ExpectOk(Commit("b").status());
  ExpectOk(session_->Flush());
  EXPECT_EQ(session_->Counters().committed, 2u);
  EXPECT_EQ(session_->Counters().updates, 1u);
}

TEST_F(SessionTest, CreateTableTellsTheRowsThatItHeld) {
  CreateTableRequest request;
  request.config.seed = 42;  // The fake service's answer.
  ExpectOk(session_->CreateTable(&request));
  EXPECT_EQ(request.rows, 42u);
}

TEST_F(SessionTest, StatsAreTheServices) {
  StatsRequest stats;
  ExpectOk(session_->Call(&stats));
  ASSERT_EQ(stats.processes.size(), 1u);
  EXPECT_EQ(stats.processes[0].address, "fake");
}

}  // namespace
}  // namespace persia
