#include "cc/pipeline/feedback_service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cc/base/hash.h"
#include "tests/cc/client/shards_fixture.h"
#include "tests/cc/pipeline/fake_service.h"

namespace persia {
namespace {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

constexpr uint64_t kMany = 1000;

// Gradients of which int4 loses something.
Floats SomeGradients(size_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Floats gradients(count * kRowDim);
  for (float& number : gradients) number = normal(random);
  return gradients;
}

// An update of the table "user" under way.
class Pending {
 public:
  Pending(EmbeddingService* service, Ids ids, Floats gradients,
          uint64_t sequence, uint64_t generation = 0, double seconds = 30)
      : ids_(std::move(ids)), gradients_(std::move(gradients)) {
    request_.deadline = DeadlineAfter(seconds);
    request_.client = 7;
    request_.sequence = sequence;
    request_.generation = generation;
    TableUpdate table;
    table.ids.table = HashName(kUser);
    table.ids.dim = kRowDim;
    table.ids.ids = ids_;
    table.gradients = gradients_;
    table.learning_rate = 1;
    request_.tables = {table};
    service->Update(&request_, result_.done());
  }

  Status Wait() const { return result_.Wait(); }
  const UpdateCounts& counts() const { return request_.counts; }

 private:
  const Ids ids_;
  const Floats gradients_;
  UpdateRequest request_;
  CallResult result_;
};

void ExpectOk(const Status& status) {
  EXPECT_TRUE(status.ok()) << status.message();
}

std::map<int64_t, Floats> ResidualsOf(const FeedbackService& service) {
  std::map<int64_t, Floats> all;
  for (const TableResiduals& table : service.SaveResiduals()) {
    for (size_t i = 0; i < table.ids.size(); ++i) {
      const float* const from = &table.values[i * table.dim];
      all[table.ids[i]] = Floats(from, from + table.dim);
    }
  }
  return all;
}

// ---- Over shards. Their rows take SGD steps of learning rate 1, so each row
// minus its residual is the first row minus all its gradients.

class FeedbackOverShards : public testing::Test {
 protected:
  explicit FeedbackOverShards(size_t shards = 1)
      : cluster_(shards), service_(Client(cluster_.addresses()), kMany) {
    CreateRowTable(&service_, kUser);
    meant_ = LookUpRows(cluster_.client(), kUser, kIds);
  }

  static std::unique_ptr<EmbeddingService> Client(
      const std::vector<std::string>& addresses) {
    RemoteServiceOptions options;
    options.wire_dtype = WireDtype::kInt4;
    return MakeClient(addresses, options);
  }

  // Sends gradients for all ids.
  std::unique_ptr<Pending> Send(uint32_t seed, double seconds = 30) {
    return std::make_unique<Pending>(&service_, kIds,
                                     SomeGradients(kIds.size(), seed),
                                     ++sequence_, 0, seconds);
  }

  void Mean(uint32_t seed) {
    const Floats gradients = SomeGradients(kIds.size(), seed);
    for (size_t i = 0; i < meant_.size(); ++i) meant_[i] -= gradients[i];
  }

  // Expects that the rows and the residuals are together what is meant.
  void ExpectMeant() {
    const Floats rows = LookUpRows(cluster_.client(), kUser, kIds);
    auto residuals = ResidualsOf(service_);
    for (size_t i = 0; i < kIds.size(); ++i) {
      for (size_t d = 0; d < kRowDim; ++d) {
        const size_t at = i * kRowDim + d;
        ASSERT_NEAR(rows[at] - residuals[kIds[i]][d], meant_[at], 1e-5f)
            << "id " << kIds[i];
      }
    }
  }

  HoldingService* shard(size_t i) { return cluster_.shard(i).service(); }

  const Ids kIds = FirstIds(40);
  Cluster cluster_;
  FeedbackService service_;
  Floats meant_;
  uint64_t sequence_ = 0;
};

class FeedbackOverTwoShards : public FeedbackOverShards {
 protected:
  FeedbackOverTwoShards() : FeedbackOverShards(2) {}
};

TEST_F(FeedbackOverShards, RowsFollowTheSumOfGradients) {
  for (uint32_t seed = 0; seed < 30; ++seed) {
    const auto update = Send(seed);
    ExpectOk(update->Wait());
    EXPECT_EQ(update->counts().applied, kIds.size());
    Mean(seed);
    ExpectMeant();
  }
}

// Without the residuals, numbers below half a step would never be sent.
TEST_F(FeedbackOverShards, SmallNumbersBesideALargeOneAreNotLost) {
  const Ids ids = {3};
  const Floats before = LookUpRows(cluster_.client(), kUser, ids);
  for (uint64_t step = 1; step <= 100; ++step) {
    ExpectOk(Pending(&service_, ids, {1, 0.03f, -0.02f, 0}, step).Wait());
  }
  const Floats after = LookUpRows(cluster_.client(), kUser, ids);
  EXPECT_NEAR(before[1] - after[1], 3, 1.2f / 14);
  EXPECT_NEAR(before[2] - after[2], -2, 1.2f / 14);
  EXPECT_NEAR(before[3] - after[3], 0, 1e-6f);
}

TEST_F(FeedbackOverShards, ARetryChangesNeitherRowsNorResidualsTwice) {
  ExpectOk(Send(1)->Wait());
  Mean(1);
  shard(0)->Hold();
  const auto update = Send(2);
  shard(0)->WaitForHeld(1);  // It is applied, but the answer does not come.
  const auto residuals = ResidualsOf(service_);
  cluster_.shard(0).Kill();
  shard(0)->ReleaseAll();
  cluster_.shard(0).Restart();
  ExpectOk(update->Wait());
  EXPECT_EQ(ResidualsOf(service_), residuals);
  Mean(2);
  ExpectMeant();
}

TEST_F(FeedbackOverShards, AServerMayPutAnUpdateOff) {
  ExpectOk(Send(1)->Wait());
  shard(0)->FailNext(3, Status(Code::kUnavailable, "it is being applied"));
  ExpectOk(Send(2)->Wait());
  Mean(1);
  Mean(2);
  ExpectMeant();
}

TEST_F(FeedbackOverShards, AFailedUpdateLosesItsGradientsAlone) {
  ExpectOk(Send(1)->Wait());
  Mean(1);
  shard(0)->FailNext(1, Status(Code::kInternal, "refused"));
  EXPECT_EQ(Send(2)->Wait().code(), Code::kInternal);
  ExpectMeant();
  ExpectOk(Send(3)->Wait());
  Mean(3);
  ExpectMeant();
}

TEST_F(FeedbackOverShards, AnUpdateThatNeverArrivesIsTakenBack) {
  ExpectOk(Send(1)->Wait());
  Mean(1);
  cluster_.shard(0).Kill();
  EXPECT_FALSE(Send(2, 0.2)->Wait().ok());
  cluster_.shard(0).Restart();
  ExpectMeant();
}

TEST_F(FeedbackOverTwoShards, OnlyTheFailedShardsPartIsTakenBack) {
  ExpectOk(Send(1)->Wait());
  Mean(1);
  const Floats before = LookUpRows(cluster_.client(), kUser, kIds);
  shard(1)->FailNext(1, Status(Code::kInternal, "refused"));
  EXPECT_EQ(Send(2)->Wait().code(), Code::kInternal);
  const Floats after = LookUpRows(cluster_.client(), kUser, kIds);
  const Floats gradients = SomeGradients(kIds.size(), 2);
  size_t moved = 0;
  for (size_t i = 0; i < kIds.size(); ++i) {
    const auto row = before.begin() + static_cast<ptrdiff_t>(i * kRowDim);
    if (std::equal(row, row + kRowDim, &after[i * kRowDim])) continue;
    ++moved;
    for (size_t at = i * kRowDim; at < (i + 1) * kRowDim; ++at) {
      meant_[at] -= gradients[at];
    }
  }
  EXPECT_GT(moved, 0u);
  EXPECT_LT(moved, kIds.size());
  ExpectMeant();
}

TEST_F(FeedbackOverTwoShards, BadGradientsAreSkippedAloneAndPoisonNothing) {
  ExpectOk(Send(1)->Wait());
  Mean(1);
  const auto residuals = ResidualsOf(service_);
  Floats gradients(kIds.size() * kRowDim, 0);
  for (size_t i = 0; i < kIds.size(); ++i) {
    gradients[i * kRowDim + i % kRowDim] =
        i % 2 == 0 ? std::numeric_limits<float>::quiet_NaN()
                   : -std::numeric_limits<float>::infinity();
  }
  const Pending bad(&service_, kIds, gradients, ++sequence_);
  ExpectOk(bad.Wait());
  EXPECT_EQ(bad.counts().nonfinite, kIds.size());
  EXPECT_EQ(bad.counts().applied, 0u);
  EXPECT_EQ(ResidualsOf(service_), residuals);
  ExpectOk(Send(2)->Wait());
  Mean(2);
  ExpectMeant();
}

TEST_F(FeedbackOverShards, RowsThatAreReplacedHaveNoResiduals) {
  ExpectOk(Send(1)->Wait());
  AssignRows(&service_, kUser, {1, 2}, 5);
  RemoveRows(&service_, kUser, {3});
  const auto residuals = ResidualsOf(service_);
  EXPECT_EQ(residuals.size(), kIds.size() - 3);
  for (const int64_t id : {1, 2, 3}) EXPECT_EQ(residuals.count(id), 0u);
  DropTableRequest drop;
  drop.deadline = DeadlineAfter(30);
  drop.table = HashName(kUser);
  drop.drop_id = 1;
  CallResult dropped;
  service_.DropTable(&drop, dropped.done());
  ExpectOk(dropped.Wait());
  EXPECT_TRUE(ResidualsOf(service_).empty());
}

TEST_F(FeedbackOverTwoShards, UpdatesMayBeMadeAtOnce) {
  constexpr uint32_t kThreads = 4, kSteps = 25;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (uint32_t step = 0; step < kSteps; ++step) {
        const uint32_t seed = t * kSteps + step;
        ExpectOk(
            Pending(&service_, kIds, SomeGradients(kIds.size(), seed), seed + 1)
                .Wait());
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint32_t seed = 0; seed < kThreads * kSteps; ++seed) Mean(seed);
  const Floats rows = LookUpRows(cluster_.client(), kUser, kIds);
  auto residuals = ResidualsOf(service_);
  for (size_t i = 0; i < rows.size(); ++i) {
    const float kept = residuals[kIds[i / kRowDim]][i % kRowDim];
    ASSERT_NEAR(rows[i] - kept, meant_[i], 1e-3f);
  }
}

// ---- Over a service that shows what it was sent.

class FeedbackOverFake : public testing::Test {
 protected:
  FeedbackOverFake() : service_(MakeFakeService(control_), kMany) {}
  ~FeedbackOverFake() override { control_->ReleaseAll(); }

  std::unique_ptr<Pending> Send(uint32_t seed, uint64_t generation = 0) {
    return std::make_unique<Pending>(&service_, Ids{1, 2},
                                     SomeGradients(2, seed), seed, generation);
  }

  Floats Sent(size_t update) {
    return control_->WaitForUpdates(update + 1)[update].tables[0].gradients;
  }

  const std::shared_ptr<FakeControl> control_ = std::make_shared<FakeControl>();
  FeedbackService service_;
};

TEST_F(FeedbackOverFake, TheRequestIsPassedOn) {
  control_->SetCounts({5, 6, 7});
  const auto update = Send(3, 9);
  ExpectOk(update->Wait());
  EXPECT_EQ(update->counts().applied, 5u);
  EXPECT_EQ(update->counts().nonfinite, 6u);
  EXPECT_EQ(update->counts().absent, 7u);
  const SeenUpdate seen = control_->WaitForUpdates(1)[0];
  EXPECT_EQ(seen.client, 7u);
  EXPECT_EQ(seen.sequence, 3u);
  EXPECT_EQ(seen.generation, 9u);
  EXPECT_EQ(seen.tables[0].ids, (Ids{1, 2}));
  EXPECT_EQ(seen.tables[0].learning_rate, 1);
}

TEST_F(FeedbackOverFake, AFailureAfterLaterUpdatesTakesBackItsOwn) {
  ExpectOk(Send(1)->Wait());
  control_->HoldUpdates(true);
  const auto failing = Send(2), later = Send(3);
  const auto expected = [&] {
    // What there would be if only the first and the third had been made.
    FeedbackService other(MakeFakeService(std::make_shared<FakeControl>()),
                          kMany);
    ExpectOk(Pending(&other, {1, 2}, SomeGradients(2, 1), 1).Wait());
    return ResidualsOf(other);
  }();
  const Floats third = Sent(2);
  control_->CompleteUpdate(Status(Code::kUnavailable, "gone"));
  EXPECT_FALSE(failing->Wait().ok());
  control_->CompleteUpdate(Status(Code::kUnavailable, "gone too"));
  EXPECT_FALSE(later->Wait().ok());
  auto residuals = ResidualsOf(service_);
  for (const auto& [id, residual] : expected) {
    for (size_t d = 0; d < kRowDim; ++d) {
      EXPECT_NEAR(residuals[id][d], residual[d], 1e-6f);
    }
  }
}

TEST_F(FeedbackOverFake, ALaterGenerationBeginsWithoutResiduals) {
  ExpectOk(Send(1, 10)->Wait());
  ExpectOk(Send(2, 11)->Wait());
  EXPECT_EQ(Sent(1), SomeGradients(2, 2));
  ExpectOk(Send(3, 11)->Wait());
  EXPECT_NE(Sent(2), SomeGradients(2, 3));
}

TEST_F(FeedbackOverFake, AnEarlierGenerationIsPassedOnAndMayFail) {
  ExpectOk(Send(1, 10)->Wait());
  const auto residuals = ResidualsOf(service_);
  control_->HoldUpdates(true);
  const auto late = Send(2, 9);
  EXPECT_EQ(Sent(1), SomeGradients(2, 2));
  control_->CompleteUpdate(Status(Code::kFailedPrecondition, "restored"));
  EXPECT_FALSE(late->Wait().ok());
  EXPECT_EQ(ResidualsOf(service_), residuals);
  // A store that accepts it has lost the later generation.
  const auto accepted = Send(3, 9);
  control_->CompleteUpdate();
  ExpectOk(accepted->Wait());
  EXPECT_TRUE(ResidualsOf(service_).empty());
  control_->HoldUpdates(false);
  ExpectOk(Send(4, 9)->Wait());
  EXPECT_FALSE(ResidualsOf(service_).empty());
}

TEST_F(FeedbackOverFake, RestoredResidualsAreUsedInTheirGeneration) {
  ExpectOk(Send(1, 10)->Wait());
  const std::vector<TableResiduals> saved = service_.SaveResiduals();
  ExpectOk(Send(2, 10)->Wait());
  const Floats second = Sent(1);
  ExpectOk(Send(3, 10)->Wait());
  control_->HoldUpdates(true);
  const auto old = Send(4, 10);
  service_.RestoreResiduals(saved, 20);
  // A failure does not change restored residuals.
  control_->CompleteUpdate(Status(Code::kFailedPrecondition, "restored"));
  EXPECT_FALSE(old->Wait().ok());
  control_->HoldUpdates(false);
  ExpectOk(Send(2, 20)->Wait());
  EXPECT_EQ(Sent(4), second);
}

TEST_F(FeedbackOverFake, BagsHaveNoResiduals) {
  const Ids ids = {1, 2, 3};
  const std::vector<uint32_t> offsets = {0, 2, 3};
  const Floats gradients = SomeGradients(2, 1);
  UpdateRequest request;
  request.tables.resize(1);
  request.tables[0].ids.dim = kRowDim;
  request.tables[0].ids.ids = ids;
  request.tables[0].ids.combiner = Combiner::kSum;
  request.tables[0].ids.bag_offsets = offsets;
  request.tables[0].gradients = gradients;
  for (size_t i = 0; i < 2; ++i) {
    CallResult result;
    service_.Update(&request, result.done());
    ExpectOk(result.Wait());
    EXPECT_EQ(Sent(i), gradients);
  }
  EXPECT_TRUE(ResidualsOf(service_).empty());
}

// The inner service refuses it.
TEST_F(FeedbackOverFake, GradientsOfAWrongSizeArePassedOn) {
  ExpectOk(Pending(&service_, {1, 2}, {1, 2, 3}, 1).Wait());
  EXPECT_EQ(Sent(0), (Floats{1, 2, 3}));
}

TEST_F(FeedbackOverFake, MayBeDestroyedWhileAnUpdateIsUnderWay) {
  const auto control = std::make_shared<FakeControl>();
  control->HoldUpdates(true);
  auto service =
      std::make_unique<FeedbackService>(MakeFakeService(control), kMany);
  const Pending update(service.get(), {1}, SomeGradients(1, 1), 1);
  service = nullptr;
  EXPECT_EQ(update.Wait().code(), Code::kCancelled);
}

}  // namespace
}  // namespace persia
