// Bags, through a session over a FakeService that takes them.

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/hash.h"
#include "cc/pipeline/session.h"
#include "tests/cc/pipeline/session_fixture.h"

namespace persia {
namespace {

using Ids = std::vector<int64_t>;
using Offsets = std::vector<uint32_t>;
using Floats = std::vector<float>;

constexpr char kPooled[] = "pooled";
constexpr uint32_t kDim = 2;

// Bags whose vectors take fewer bytes than their rows.
const Ids kIds = {1, 2, 3, 4, 5, 6, 7, 8};
const Offsets kOffsets = {0, 3, 3, 8};
const Floats kSums = {6, 6, 0, 0, 30, 30};

class BagsTest : public SessionFixture {
 protected:
  BagsTest() {
    control_->TakeBags();
    options_.send_bags = true;
    MakeBagSession();
  }

  void MakeBagSession() {
    MakeSession(options_);
    CreateTableRequest request;
    request.config.name = kPooled;
    request.config.dim = kDim;
    ExpectOk(session_->CreateTable(&request));
  }

  static LayerCall Bags(const Offsets& offsets, bool training,
                        Combiner combiner = Combiner::kSum) {
    LayerCall call;
    call.layer = "a";
    call.table = HashName(kPooled);
    call.dim = kDim;
    call.training = training;
    call.combiner = combiner;
    call.bag_offsets = offsets;
    return call;
  }

  std::shared_ptr<StartedLookup> Train(const Ids& ids = kIds,
                                       const Offsets& offsets = kOffsets) {
    return Start(Bags(offsets, /*training=*/true), ids);
  }

  void StageOf(const std::string& layer, const StartedLookup& lookup,
               float first) {
    ExpectOk(lookup.outcome.status());
    Floats gradients(lookup.rows.size());
    for (float& gradient : gradients) gradient = first++;
    ExpectOk(session_->Stage(layer, lookup.ticket, MakeGradients(gradients)));
  }

  SeenTable TableOfLookup(size_t i) {
    return control_->WaitForLookups(i + 1).at(i).tables.at(0);
  }

  SeenTable TableOfUpdate(size_t i) {
    const SeenUpdate update = control_->WaitForUpdates(i + 1).at(i);
    EXPECT_EQ(update.tables.size(), 1u);
    return update.tables.at(0);
  }

  static void ExpectBags(const SeenTable& seen) {
    EXPECT_EQ(seen.ids, kIds);
    EXPECT_EQ(seen.combiner, Combiner::kSum);
    EXPECT_EQ(seen.bag_offsets, kOffsets);
  }

  static void ExpectRows(const SeenTable& seen, const Ids& ids) {
    EXPECT_EQ(seen.ids, ids);
    EXPECT_EQ(seen.combiner, Combiner::kNone);
    EXPECT_TRUE(seen.bag_offsets.empty());
  }

  SessionOptions options_;
};

TEST_F(BagsTest, GoAsTheyAre) {
  const auto lookup = Train();
  ExpectOk(lookup->outcome.status());
  ExpectBags(TableOfLookup(0));
  EXPECT_EQ(lookup->rows, kSums);
}

TEST_F(BagsTest, GoForAnEvaluationToo) {
  const auto lookup = Start(Bags(kOffsets, /*training=*/false), kIds);
  ExpectOk(lookup->outcome.status());
  ExpectBags(TableOfLookup(0));
  EXPECT_TRUE(control_->WaitForLookups(1).at(0).read_only);
  EXPECT_EQ(lookup->rows, kSums);
}

TEST_F(BagsTest, TakeGradientsOfTheirVectors) {
  StageOf("a", *Train(), 1);
  ExpectOk(Commit("a").status());
  const SeenTable update = TableOfUpdate(0);
  ExpectBags(update);
  EXPECT_EQ(update.gradients, (Floats{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(update.learning_rate, 0.5f);
}

TEST_F(BagsTest, KeepDuplicates) {
  const Ids ids = {1, 2, 3, 4, 5, 6, 7, 8, 7, 7};
  const auto lookup = Train(ids, {0, 3, 10});
  ExpectOk(lookup->outcome.status());
  EXPECT_EQ(TableOfLookup(0).ids, ids);
  EXPECT_EQ(lookup->rows, (Floats{6, 6, 44, 44}));
}

// Settings that must not change results, but change where bags are pooled.
class PooledHereTest : public BagsTest {
 protected:
  void ExpectPooledHere() {
    MakeBagSession();
    const auto lookup = Train();
    ExpectOk(lookup->outcome.status());
    ExpectRows(TableOfLookup(0), kIds);
    EXPECT_EQ(lookup->rows, kSums);
    StageOf("a", *lookup, 1);
    ExpectOk(Commit("a").status());
    const SeenTable update = TableOfUpdate(0);
    ExpectRows(update, kIds);
    EXPECT_EQ(update.gradients,
              (Floats{1, 2, 1, 2, 1, 2, 5, 6, 5, 6, 5, 6, 5, 6, 5, 6}));
  }
};

TEST_F(PooledHereTest, UnlessBagsMayGo) {
  options_.send_bags = false;
  ExpectPooledHere();
}

TEST_F(PooledHereTest, WhereCopiesOfRowsAreKept) {
  options_.hot_rows = 10;
  ExpectPooledHere();
}

TEST_F(BagsTest, OfATableThatTakesNoneArePooledHere) {
  LayerCall call = Bags(kOffsets, /*training=*/true);
  call.table = kTable;
  const auto lookup = Start(call, kIds);
  ExpectOk(lookup->outcome.status());
  ExpectRows(TableOfLookup(0), kIds);
  EXPECT_EQ(lookup->rows, kSums);
}

TEST_F(BagsTest, WhoseRowsAreFewerArePooledHere) {
  const auto lookup = Train({9, 9, 9, 8, 9, 8}, {0, 1, 2, 4, 6});
  ExpectOk(lookup->outcome.status());
  ExpectRows(TableOfLookup(0), {9, 8});
  EXPECT_EQ(lookup->rows, (Floats{9, 9, 9, 9, 17, 17, 17, 17}));
  StageOf("a", *lookup, 1);
  ExpectOk(Commit("a").status());
  const SeenTable update = TableOfUpdate(0);
  ExpectRows(update, {9, 8});
  EXPECT_EQ(update.gradients, (Floats{1 + 3 + 5 + 7, 2 + 4 + 6 + 8, 12, 14}));
}

TEST_F(BagsTest, MeansArePooledHereTheSame) {
  const auto lookup =
      Start(Bags({0, 2, 4}, /*training=*/true, Combiner::kMean), {1, 1, 1, 2});
  ExpectOk(lookup->outcome.status());
  EXPECT_EQ(lookup->rows, (Floats{1, 1, 1.5f, 1.5f}));
}

TEST_F(BagsTest, WithoutIdsAreZeroAndNoRequest) {
  const auto lookup = Train({}, {0, 0, 0});
  ExpectOk(lookup->outcome.status());
  EXPECT_EQ(lookup->rows, (Floats{0, 0, 0, 0}));
  StageOf("a", *lookup, 1);
  ExpectOk(Commit("a").status());
  ExpectOk(session_->Flush());
  EXPECT_EQ(control_->lookups(), 0u);
  EXPECT_EQ(control_->updates(), 0u);
}

// ---- Parts of one update ----

TEST_F(BagsTest, OfReplicasGoAsOneUpdate) {
  LayerCall call = Bags(kOffsets, /*training=*/true);
  const auto first = Start(call, kIds);
  call.replica = 1;
  const auto second = Start(call, {1, 12, 13, 14, 15, 16, 17, 18});
  StageOf("a", *first, 1);
  StageOf("a", *second, 10);
  ExpectOk(Commit("a").status());
  const SeenTable update = TableOfUpdate(0);
  EXPECT_EQ(update.combiner, Combiner::kSum);
  EXPECT_EQ(update.ids, (Ids{1, 2, 3, 4, 5, 6, 7, 8,  //
                             1, 12, 13, 14, 15, 16, 17, 18}));
  EXPECT_EQ(update.bag_offsets, (Offsets{0, 3, 3, 8, 11, 11, 16}));
  EXPECT_EQ(update.gradients,
            (Floats{1, 2, 3, 4, 5, 6, 10, 11, 12, 13, 14, 15}));
}

// If id 8 were in the update twice, its row would be stepped twice.
TEST_F(BagsTest, AndRowsOfOneTableGoAsOneGradientARow) {
  const auto bags = Train();
  LayerCall plain = Bags({}, /*training=*/true, Combiner::kNone);
  plain.layer = "b";
  const auto rows = Start(plain, {8, 9});
  StageOf("a", *bags, 1);
  StageOf("b", *rows, 100);
  ExpectOk(Commit("a").status());
  ExpectOk(Commit("b").status());
  const SeenTable update = TableOfUpdate(0);
  ExpectRows(update, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  EXPECT_EQ(update.gradients, (Floats{1, 2, 1, 2, 1, 2, 5, 6, 5, 6, 5, 6, 5, 6,
                                      105, 107, 102, 103}));
}

// ---- Ahead of their step ----

class PrefetchedBagsTest : public BagsTest {
 protected:
  void Register(const Ids& ids, const Offsets& offsets) {
    if (stream_ == 0) stream_ = *session_->OpenStream(StreamOptions());
    ExpectOk(session_->Prefetch(stream_, {For(ids, offsets)}));
  }

  static PrefetchIds For(const Ids& ids, const Offsets& offsets) {
    auto own_ids = std::make_shared<const Ids>(ids);
    auto own_offsets = std::make_shared<const Offsets>(offsets);
    PrefetchIds prefetched;
    static_cast<TableIds&>(prefetched) = Bags(*own_offsets, true);
    prefetched.layer = "a";
    prefetched.ids = *own_ids;
    prefetched.owners = {own_ids, own_offsets};
    return prefetched;
  }

  StreamId stream_ = 0;
};

TEST_F(PrefetchedBagsTest, AreFound) {
  Register(kIds, kOffsets);
  Register(kIds, kOffsets);
  StageOf("a", *Train(), 1);
  ExpectOk(Commit("a").status());
  ExpectBags(TableOfLookup(1));  // Ahead.
  const auto second = Train();
  ExpectOk(second->outcome.status());
  EXPECT_EQ(second->rows, kSums);
  EXPECT_EQ(control_->lookups(), 2u);
  EXPECT_EQ(session_->Counters().prefetch_hits, 1u);
}

TEST_F(PrefetchedBagsTest, OfTheSameIdsAreOthers) {
  Register(kIds, {0, 4, 8});
  const auto lookup = Train();
  ExpectOk(lookup->outcome.status());
  EXPECT_EQ(lookup->rows, kSums);
  EXPECT_EQ(session_->Counters().batches_registered, 1u);
  const auto mean =
      Start(Bags({0, 4, 8}, /*training=*/true, Combiner::kMean), kIds);
  ExpectOk(mean->outcome.status());
  EXPECT_EQ(mean->rows, (Floats{2.5f, 2.5f, 6.5f, 6.5f}));
  EXPECT_EQ(session_->Counters().batches_registered, 1u);
  ExpectOk(Train(kIds, {0, 4, 8})->outcome.status());
  EXPECT_EQ(session_->Counters().batches_registered, 0u);
}

// ---- What is refused ----

TEST_F(BagsTest, ThatDoNotCoverTheIdsAreRefused) {
  const Status status = Train(kIds, {0, 3})->outcome.status();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  ExpectMessage(status, "layer 'a': bag_offsets must begin with 0 and end");
}

TEST_F(PrefetchedBagsTest, ThatFallAreRefused) {
  const auto stream = session_->OpenStream(StreamOptions());
  const Status status = session_->Prefetch(*stream, {For(kIds, {0, 9, 3, 8})});
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  ExpectMessage(status, "layer 'a': bag_offsets must not decrease");
}

TEST_F(BagsTest, GradientsOfTheirRowsAreRefused) {
  const auto lookup = Train();
  ExpectOk(lookup->outcome.status());
  const Status status = session_->Stage(
      "a", lookup->ticket, MakeGradients(Floats(kIds.size() * kDim)));
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  ExpectMessage(status, "must have 6 values, as its output had, received 16");
}

TEST_F(BagsTest, RoomForTheirRowsIsRefused) {
  LayerCall call = Bags(kOffsets, /*training=*/false);
  call.ids = kIds;
  auto issued = session_->Issue(call);
  ExpectOk(issued.status());
  Floats rows(kIds.size() * kDim);
  Outcome outcome;
  session_->Fetch(issued->lookup, rows, outcome.done());
  EXPECT_EQ(outcome.status().code(), Code::kInvalidArgument);
  ExpectMessage(outcome.status(),
                "looks up 3 x 2 numbers, received room for 16");
}

}  // namespace
}  // namespace persia
