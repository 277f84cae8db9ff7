// Prefetching, through a session over a FakeService.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/pipeline/prefetch_stream.h"
#include "cc/pipeline/session.h"
#include "tests/cc/pipeline/session_fixture.h"

namespace persia {
namespace {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

class PrefetchTest : public SessionFixture {
 protected:
  StreamId OpenStream(int staleness, int replicas = 1) {
    StreamOptions options;
    options.staleness = staleness;
    options.replicas = replicas;
    auto stream = session_->OpenStream(options);
    ExpectOk(stream.status());
    return *stream;
  }

  static PrefetchIds For(const std::string& layer, Ids ids,
                         TableKey table = kTable, bool trainable = true) {
    auto owner = std::make_shared<const Ids>(std::move(ids));
    PrefetchIds prefetched;
    prefetched.layer = layer;
    prefetched.table = table;
    prefetched.dim = 1;
    prefetched.trainable = trainable;
    prefetched.ids = *owner;
    prefetched.owners = {std::move(owner)};
    return prefetched;
  }

  // A batch of layer "a" alone.
  void Register(StreamId stream, const Ids& ids) {
    ExpectOk(session_->Prefetch(stream, {For("a", ids)}));
  }

  void StageAndCommit(const std::string& layer, const StartedLookup& lookup) {
    ExpectOk(lookup.outcome.status());
    ExpectOk(session_->Stage(layer, lookup.ticket,
                             MakeGradients(Floats(lookup.rows.size(), 1))));
    ExpectOk(Commit(layer).status());
  }

  // Starts an evaluation lookup of layer "a".
  std::shared_ptr<StartedLookup> StartEvaluation(const Ids& ids) {
    LayerCall call;
    call.layer = "a";
    call.table = kTable;
    call.dim = 1;
    return Start(call, ids);
  }

  void TrainOn(const Ids& ids) {
    StageAndCommit("a", *StartTraining("a", ids));
  }

  Ids IdsOfLookup(size_t i) {
    return control_->WaitForLookups(i + 1).at(i).tables.at(0).ids;
  }
};

TEST_F(PrefetchTest, TheFirstBatchTellsWhatTheStreamIsFor) {
  const StreamId stream = OpenStream(4);
  Register(stream, {1});
  Register(stream, {2});
  EXPECT_EQ(control_->lookups(), 0u);
  TrainOn({1});
  EXPECT_EQ(IdsOfLookup(1), (Ids{2}));
  EXPECT_FALSE(control_->WaitForLookups(2).at(1).read_only);
}

TEST_F(PrefetchTest, AClaimFindsTheRowsThatWereSentFor) {
  const StreamId stream = OpenStream(4);
  for (const int64_t id : {1, 2, 3}) Register(stream, {id, id});
  TrainOn({1, 1});
  control_->WaitForLookups(3);
  const auto second = StartTraining("a", {2, 2});
  ExpectOk(second->outcome.status());
  EXPECT_EQ(second->rows, (Floats{2, 2}));
  EXPECT_EQ(control_->lookups(), 3u);
  EXPECT_EQ(session_->Counters().prefetch_hits, 1u);
}

TEST_F(PrefetchTest, ABatchIsOneRequestForAllItsLayers) {
  const StreamId stream = OpenStream(4);
  for (const int64_t id : {1, 2}) {
    ExpectOk(session_->Prefetch(
        stream, {For("a", {id}), For("b", {10 + id}, kOtherTable)}));
  }
  const auto a = StartTraining("a", {1});
  const auto b = StartTraining("b", {11}, kOtherTable);
  const std::vector<SeenLookup> lookups = control_->WaitForLookups(2);
  EXPECT_EQ(lookups.at(0).tables.size(), 2u);
  EXPECT_EQ(lookups.at(1).tables.size(), 2u);
  EXPECT_EQ(b->rows, (Floats{11}));
}

TEST_F(PrefetchTest, IdsThatWereNotRegisteredAreAskedFor) {
  const StreamId stream = OpenStream(4);
  Register(stream, {1});
  const auto other = StartTraining("a", {7});
  ExpectOk(other->outcome.status());
  EXPECT_EQ(other->rows, (Floats{7}));
  EXPECT_EQ(session_->Counters().prefetch_hits, 0u);
}

// ---- The bound ----

TEST_F(PrefetchTest, SendsAheadAsFarAsTheStalenessAllows) {
  control_->HoldUpdates(true);
  const StreamId stream = OpenStream(2);
  for (const int64_t id : {1, 2, 3, 4, 5}) Register(stream, {id});
  TrainOn({1});
  control_->WaitForLookups(3);  // 1, and batches 2 and 3 ahead of it.
  control_->WaitForUpdates(1);
  TrainOn({2});
  TrainOn({3});
  control_->WaitForUpdates(3);
  const auto fourth = StartTraining("a", {4});
  EXPECT_FALSE(fourth->outcome.ready());
  EXPECT_EQ(control_->lookups(), 3u);
  control_->CompleteUpdate();
  ExpectOk(fourth->outcome.status());
  EXPECT_EQ(session_->Counters().staleness.max, 2u);
}

TEST_F(PrefetchTest, WithoutStalenessALookupSeesEveryUpdate) {
  const StreamId stream = OpenStream(0);
  for (const int64_t id : {1, 2}) Register(stream, {id});
  control_->HoldUpdates(true);
  const auto first = StartTraining("a", {1});
  ExpectOk(session_->Stage("a", first->ticket, MakeGradients({1})));
  const Outcome commit = Commit("a");
  control_->WaitForUpdates(1);
  EXPECT_FALSE(commit.ready());
  EXPECT_EQ(control_->lookups(), 1u);
  control_->CompleteUpdate();
  ExpectOk(commit.status());
  EXPECT_EQ(IdsOfLookup(1), (Ids{2}));
  StartTraining("a", {2});
  EXPECT_EQ(session_->Counters().staleness.max, 0u);
}

TEST_F(PrefetchTest, RowsThatOtherStepsMadeTooStaleAreAskedForAnew) {
  const StreamId stream = OpenStream(1);
  Register(stream, {1});
  Register(stream, {2});
  TrainOn({1});
  control_->WaitForLookups(2);
  ExpectOk(session_->Flush());
  // These steps are not among the stream's batches.
  Step("b", {2});
  Step("b", {2});
  ExpectOk(session_->Flush());
  const size_t before = control_->lookups();
  const auto late = StartTraining("a", {2});
  ExpectOk(late->outcome.status());
  EXPECT_EQ(control_->lookups(), before + 1);
  EXPECT_EQ(session_->Counters().prefetch_stale, 1u);
  EXPECT_LE(session_->Counters().staleness.max, 1u);
}

TEST_F(PrefetchTest, ReplicasShareAStep) {
  control_->HoldUpdates(true);
  const StreamId stream = OpenStream(1, /*replicas=*/2);
  for (int64_t id = 1; id <= 6; ++id) Register(stream, {id});
  StartTraining("a", {1});
  // The other replica's batch of this step, and both batches of the next step.
  control_->WaitForLookups(4);
  StartTraining("a", {2});
  StartTraining("a", {3});
  StartTraining("a", {4});
  EXPECT_EQ(control_->lookups(), 4u);
}

// ---- Evaluation ----

TEST_F(PrefetchTest, AnEvaluationTakesNoPlace) {
  const StreamId stream = OpenStream(1);
  for (const int64_t id : {1, 2, 3, 4}) Register(stream, {id});
  const auto first = StartEvaluation({1});
  const std::vector<SeenLookup> lookups = control_->WaitForLookups(4);
  for (const SeenLookup& lookup : lookups) EXPECT_TRUE(lookup.read_only);
  EXPECT_EQ(session_->Counters().staleness.batches[0], 0u);
}

TEST_F(PrefetchTest, AnEvaluationsRowsAreNeverStale) {
  const StreamId stream = OpenStream(4);
  Register(stream, {1});
  Register(stream, {2});
  StartEvaluation({1});
  control_->WaitForLookups(2);
  Step("b", {2});
  ExpectOk(session_->Flush());
  const size_t before = control_->lookups();
  ExpectOk(StartEvaluation({2})->outcome.status());
  EXPECT_EQ(control_->lookups(), before + 1);
}

TEST_F(PrefetchTest, AFrozenLayersRowsAreNotCreated) {
  const StreamId stream = OpenStream(4);
  for (const int64_t id : {1, 2}) {
    ExpectOk(session_->Prefetch(
        stream,
        {For("a", {id}), For("frozen", {10 + id}, kOtherTable, false)}));
  }
  StartTraining("a", {1});
  const std::vector<SeenLookup> lookups = control_->WaitForLookups(4);
  EXPECT_FALSE(lookups.at(2).read_only);
  EXPECT_TRUE(lookups.at(3).read_only);
  EXPECT_EQ(lookups.at(3).tables.at(0).ids, (Ids{12}));
}

// ---- Batches that no step claims, and the ends of streams

// A layer that trains other ids than it reads: each batch has 100 + id for one
// use, and 200 + id for the other.
TEST_F(PrefetchTest, WhatIsForTheOtherUseIsLeftOut) {
  for (const bool trains : {true, false}) {
    MakeSession(4);
    const size_t before = control_->lookups();
    const StreamId stream = OpenStream(4);
    for (const int64_t id : {1, 2}) {
      PrefetchIds training = For("a", {100 + id});
      PrefetchIds reading = For("a", {200 + id});
      training.use = LookupUse::kTraining;
      reading.use = LookupUse::kReading;
      training.absent = reading.absent = AbsentRows::kMarked;
      ExpectOk(session_->Prefetch(stream, {training, reading}));
    }
    const auto take = [&](int64_t id) {
      LayerCall call;
      call.layer = "a";
      call.table = kTable;
      call.dim = 1;
      call.training = trains;
      call.absent = AbsentRows::kMarked;
      ExpectOk(Start(call, {(trains ? 100 : 200) + id})->outcome.status());
    };
    take(1);
    const auto lookups = control_->WaitForLookups(before + 2);
    const SeenTable& ahead = lookups.at(before + 1).tables.at(0);
    EXPECT_EQ(lookups.at(before + 1).tables.size(), 1u);
    EXPECT_EQ(ahead.ids, (Ids{trains ? 102 : 202}));
    EXPECT_EQ(ahead.absent,
              trains ? AbsentRows::kDefault : AbsentRows::kMarked);
    take(2);
    EXPECT_EQ(control_->lookups(), before + 2);
    EXPECT_EQ(session_->Counters().prefetch_hits, 1u);
    EXPECT_EQ(session_->Counters().batches_registered, 0u);
  }
}

TEST_F(PrefetchTest, BatchesThatArePassedOverFreeTheirPlace) {
  const StreamId stream = OpenStream(1);
  for (const int64_t id : {1, 2, 3, 4, 5}) Register(stream, {id});
  TrainOn({1});
  control_->WaitForLookups(2);
  TrainOn({3});  // No step takes batch 2.
  TrainOn({4});
  control_->WaitForLookups(5);
  EXPECT_EQ(session_->Counters().batches_registered, 1u);
}

TEST_F(PrefetchTest, AClosedStreamLeavesNothing) {
  const StreamId stream = OpenStream(4);
  for (const int64_t id : {1, 2, 3}) Register(stream, {id});
  control_->HoldLookups(true);
  const auto first = StartTraining("a", {1});
  control_->WaitForLookups(3);
  session_->CloseStream(stream);
  EXPECT_EQ(session_->Counters().batches_registered, 0u);
  EXPECT_EQ(session_->Prefetch(stream, {For("a", {4})}).code(),
            Code::kNotFound);
  control_->HoldLookups(false);
  control_->CompleteLookup();
  StageAndCommit("a", *first);
  ExpectOk(session_->Flush());
}

TEST_F(PrefetchTest, ALayerWhoseOutputIsUnusedDoesNotStopTheStream) {
  const StreamId stream = OpenStream(1);
  for (int64_t id = 1; id <= 6; ++id) {
    ExpectOk(session_->Prefetch(
        stream, {For("a", {id}), For("unused", {id}, kOtherTable)}));
  }
  for (int64_t id = 1; id <= 6; ++id) {
    const auto used = StartTraining("a", {id});
    StartTraining("unused", {id}, kOtherTable);
    StageAndCommit("a", *used);
  }
  ExpectOk(session_->Flush());
  EXPECT_EQ(control_->updates(), 6u);
  EXPECT_LE(session_->Counters().staleness.max, 1u);
}

TEST_F(PrefetchTest, ForwardPassesWithoutAStepDoNotStopTheStream) {
  const StreamId stream = OpenStream(1);
  for (int64_t id = 1; id <= 9; ++id) Register(stream, {id});
  for (int64_t id = 1; id <= 9; ++id) {
    ExpectOk(StartTraining("a", {id})->outcome.status());
  }
}

TEST_F(PrefetchTest, AClaimWaitsForALookupAheadAndItsError) {
  const StreamId stream = OpenStream(4);
  Register(stream, {1});
  Register(stream, {2});
  control_->HoldLookups(true);
  StartTraining("a", {1});
  control_->WaitForLookups(2);
  const auto second = StartTraining("a", {2});
  control_->CompleteLookup();
  control_->CompleteLookup(Status(Code::kUnavailable, "shard 2 is gone"));
  ExpectMessage(second->outcome.status(), "shard 2 is gone");
}

TEST_F(PrefetchTest, WhatFailedBeforeItsStepIsAskedForAnew) {
  const StreamId stream = OpenStream(4);
  Register(stream, {1});
  Register(stream, {2});
  control_->HoldLookups(true);
  StartTraining("a", {1});
  control_->WaitForLookups(2);
  // The service completes lookups in order, so the end of this one shows that
  // the others have ended.
  const auto last = StartReadOnly({9});
  control_->WaitForLookups(3);
  control_->CompleteLookup();
  control_->CompleteLookup(Status(Code::kUnavailable, "shard 2 was gone"));
  control_->CompleteLookup();
  ExpectOk(last->outcome.status());

  control_->HoldLookups(false);
  const auto second = StartTraining("a", {2});
  ExpectOk(second->outcome.status());
  EXPECT_EQ(second->rows, (Floats{2}));
  EXPECT_EQ(control_->lookups(), 4u);
}

TEST_F(PrefetchTest, AFailedPushStopsTheStreamWithItsError) {
  const StreamId stream = OpenStream(4);
  for (const int64_t id : {1, 2, 3}) Register(stream, {id});
  control_->HoldUpdates(true);
  TrainOn({1});
  TrainOn({2});
  control_->WaitForUpdates(2);
  const auto waiting = StartReadOnly({1});
  control_->CompleteUpdate(Status(Code::kUnavailable, "shard 3 is gone"));
  EXPECT_FALSE(waiting->outcome.status().ok());
  ExpectMessage(StartTraining("a", {3})->outcome.status(), "shard 3 is gone");
  control_->ReleaseAll();
  EXPECT_FALSE(session_->Flush().ok());
  ExpectOk(StartTraining("a", {3})->outcome.status());
}

TEST_F(PrefetchTest, AnEvaluationOfItsBatchesDoesNotTakeAStreamFromTraining) {
  const StreamId stream = OpenStream(1);
  for (const int64_t id : {1, 2, 3, 4}) Register(stream, {id});
  StartEvaluation({1});
  control_->WaitForLookups(4);
  TrainOn({2});
  control_->WaitForLookups(6);  // Its own lookup, and the one of batch 3.
  TrainOn({3});
  EXPECT_EQ(session_->Counters().prefetch_hits, 1u);
  TrainOn({4});
  ExpectOk(session_->Flush());
  EXPECT_EQ(control_->updates(), 3u);
  EXPECT_EQ(session_->Counters().batches_registered, 0u);
}

TEST_F(PrefetchTest, BatchesThatNobodyTakesAreDropped) {
  const StreamId stream = OpenStream(1);
  constexpr size_t kMost = 4 + PrefetchStream::kSpareBatches;
  for (size_t i = 0; i < kMost + 5; ++i) Register(stream, {1});
  EXPECT_EQ(session_->Counters().batches_registered, kMost);
  EXPECT_EQ(session_->Counters().prefetch_dropped, 5u);
}

// After a batch was skipped, its entry of the layer with constant ids is left
// over.
TEST_F(PrefetchTest, AStepsTicketsAreNotClosedByTheNextBatch) {
  const StreamId stream = OpenStream(4);
  for (int64_t id = 1; id <= 4; ++id) {
    ExpectOk(session_->Prefetch(
        stream, {For("constant", {7}, kOtherTable), For("a", {id})}));
  }
  for (int64_t id = 2; id <= 4; ++id) {  // Batch 1 is skipped.
    const auto constant = StartTraining("constant", {7}, kOtherTable);
    const auto a = StartTraining("a", {id});
    ExpectOk(constant->outcome.status());
    ExpectOk(session_->Stage("constant", constant->ticket, MakeGradients({1})));
    ExpectOk(session_->Stage("a", a->ticket, MakeGradients({1})));
    ExpectOk(Commit("constant").status());
    ExpectOk(Commit("a").status());
  }
  ExpectOk(session_->Flush());
}

TEST_F(PrefetchTest, TheSessionMayEndWithLookupsAhead) {
  const StreamId stream = OpenStream(4);
  for (const int64_t id : {1, 2, 3}) Register(stream, {id});
  control_->HoldLookups(true);
  const auto first = StartTraining("a", {1});
  control_->WaitForLookups(3);
  session_.reset();
  EXPECT_EQ(first->outcome.status().code(), Code::kCancelled);
}

TEST_F(PrefetchTest, RefusesOptionsOutOfRange) {
  StreamOptions options;
  options.staleness = -1;
  ExpectMessage(session_->OpenStream(options).status(), "received -1");
  options.staleness = 0;
  options.replicas = 0;
  ExpectMessage(session_->OpenStream(options).status(), "received 0");
}

}  // namespace
}  // namespace persia
