#include "cc/service/pooling_service.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "cc/base/hash.h"
#include "cc/shard/local_service.h"
#include "tests/cc/service/outcome.h"
#include "tests/cc/service/plain_requests.h"
#include "tests/cc/service/watched_service.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

constexpr uint32_t kDim = 3;

// Bags {5, 7, 5}, {}, {7, 9} of a table, weighted.
struct Batch {
  Ids ids = {5, 7, 5, 7, 9};
  std::vector<uint32_t> offsets = {0, 3, 3, 5};
  Floats weights = {1, 0.5f, 2, 0.25f, 3};

  TableIds Of(const std::string& table, Combiner combiner) const {
    TableIds bags;
    bags.table = HashName(table);
    bags.dim = kDim;
    bags.ids = ids;
    bags.combiner = combiner;
    bags.bag_offsets = offsets;
    bags.weights = weights;
    return bags;
  }
};

class PoolingServiceTest : public ::testing::Test {
 protected:
  PoolingServiceTest() {
    auto watched = std::make_unique<WatchedService>();
    watched_ = watched.get();
    pooling_ = MakePoolingService(std::move(watched));
    local_ = MakeLocalService();
    for (EmbeddingService* service : {pooling_.get(), local_.get()}) {
      Create(service, "a");
      Create(service, "b");
    }
  }

  static void Create(EmbeddingService* service, const std::string& table) {
    ASSERT_TRUE(
        CreateNow(service, MakeConfig(table, kDim, "uniform", "adagrad")).ok());
  }

  static Floats Look(EmbeddingService* service, const TableIds& ids) {
    Floats rows(ids.vectors() * kDim, -77.0f);
    LookupRequest request;
    request.tables = {{ids, rows}};
    Outcome outcome;
    service->Lookup(&request, outcome.done());
    EXPECT_TRUE(outcome.status->ok()) << outcome.status->message();
    return rows;
  }

  static UpdateCounts Train(EmbeddingService* service, const TableIds& ids,
                            uint64_t sequence) {
    Floats gradients(ids.vectors() * kDim);
    for (size_t i = 0; i < gradients.size(); ++i) {
      gradients[i] = 0.125f * static_cast<float>(i + 1);
    }
    UpdateRequest request;
    request.client = 1;
    request.sequence = sequence;
    request.tables = {{ids, gradients, 0.5f}};
    Outcome outcome;
    service->Update(&request, outcome.done());
    EXPECT_TRUE(outcome.status->ok()) << outcome.status->message();
    return request.counts;
  }

  WatchedService* watched_ = nullptr;
  std::unique_ptr<EmbeddingService> pooling_;
  std::unique_ptr<EmbeddingService> local_;  // The reference: it pools.
  const Batch batch_;
};

TEST_F(PoolingServiceTest, TakesBagsOfEveryTable) {
  CreateTableRequest request;
  request.config = MakeConfig("c", kDim);
  Outcome outcome;
  pooling_->CreateTable(&request, outcome.done());
  EXPECT_TRUE(outcome.status->ok());
  EXPECT_TRUE(request.takes_bags);
}

TEST_F(PoolingServiceTest, TrainsBagsAsTheStoreDoes) {
  uint64_t sequence = 0;
  for (const Combiner combiner :
       {Combiner::kSum, Combiner::kMean, Combiner::kSqrtN}) {
    const TableIds bags = batch_.Of("a", combiner);
    ++sequence;
    EXPECT_EQ(Look(pooling_.get(), bags), Look(local_.get(), bags));
    EXPECT_EQ(Train(pooling_.get(), bags, sequence).applied, 3u);
    Train(local_.get(), bags, sequence);
    EXPECT_EQ(Look(pooling_.get(), bags), Look(local_.get(), bags));
  }
}

TEST_F(PoolingServiceTest, AsksForUniquePlainIds) {
  Look(pooling_.get(), batch_.Of("a", Combiner::kSum));
  ASSERT_EQ(watched_->lookups().size(), 1u);
  EXPECT_FALSE(watched_->lookups()[0].had_bags);
  EXPECT_EQ(watched_->lookups()[0].ids, (std::vector<Ids>{{5, 7, 9}}));
}

TEST_F(PoolingServiceTest, PassesAllElseOfALookupOn) {
  watched_->SetGeneration(12);
  Floats rows(3 * kDim);
  LookupRequest request;
  request.deadline = DeadlineAfter(17);
  request.read_only = true;
  request.client = 3;
  request.visible_sequence = 4;
  request.tables = {{batch_.Of("a", Combiner::kSum), rows}};
  Outcome outcome;
  pooling_->Lookup(&request, outcome.done());
  EXPECT_TRUE(outcome.status->ok());
  EXPECT_EQ(request.generation, 12u);
  const WatchedLookup seen = watched_->lookups().at(0);
  EXPECT_EQ(seen.deadline, request.deadline);
  EXPECT_TRUE(seen.read_only);
  EXPECT_EQ(seen.client, 3u);
  EXPECT_EQ(seen.visible_sequence, 4u);
}

TEST_F(PoolingServiceTest, AnUpdateKeepsItsNumberSoItIsAppliedOnce) {
  const TableIds bags = batch_.Of("a", Combiner::kMean);
  Look(pooling_.get(), bags);
  EXPECT_EQ(Train(pooling_.get(), bags, 9).applied, 3u);
  const Floats once = Look(pooling_.get(), bags);
  EXPECT_EQ(Train(pooling_.get(), bags, 9).applied, 0u);
  EXPECT_EQ(Look(pooling_.get(), bags), once);
}

TEST_F(PoolingServiceTest, MixesBagsAndPlainIdsInOneRequest) {
  const Ids ids = {9, 5};
  Floats pooled(3 * kDim), plain(2 * kDim);
  LookupRequest request;
  request.tables = {{PlainIds("b", kDim, ids), plain},
                    {batch_.Of("a", Combiner::kSum), pooled}};
  Outcome outcome;
  pooling_->Lookup(&request, outcome.done());
  ASSERT_TRUE(outcome.status->ok());
  EXPECT_EQ(watched_->lookups().size(), 1u);
  EXPECT_EQ(plain, Look(local_.get(), PlainIds("b", kDim, ids)));
  EXPECT_EQ(pooled, Look(local_.get(), batch_.Of("a", Combiner::kSum)));
}

TEST_F(PoolingServiceTest, DoesNotWaitForTheServiceWithin) {
  watched_->HoldLookups(true);
  Floats rows(3 * kDim, -77.0f);
  LookupRequest request;
  request.tables = {{batch_.Of("a", Combiner::kSum), rows}};
  Outcome outcome;
  pooling_->Lookup(&request, outcome.done());
  EXPECT_FALSE(outcome.status.has_value());
  watched_->ReleaseLookup();
  EXPECT_TRUE(outcome.status->ok());
  EXPECT_EQ(rows, Look(local_.get(), batch_.Of("a", Combiner::kSum)));
}

TEST_F(PoolingServiceTest, PassesErrorsOn) {
  Floats rows(3 * kDim);
  LookupRequest request;
  request.tables = {{batch_.Of("no such", Combiner::kSum), rows}};
  Outcome outcome;
  pooling_->Lookup(&request, outcome.done());
  EXPECT_EQ(outcome.status->code(), Code::kNotFound);
}

TEST_F(PoolingServiceTest, RefusesMalformedBagsBeforeItAsks) {
  Floats rows(3 * kDim), few(2 * kDim);
  for (const int fault : {0, 1, 2}) {
    Batch batch = batch_;
    if (fault == 0) batch.offsets.back() = 6;
    if (fault == 1) batch.weights.pop_back();
    LookupRequest lookup;
    lookup.tables = {{batch.Of("a", Combiner::kSum), rows}};
    UpdateRequest update;
    update.tables = {{batch.Of("a", Combiner::kSum), rows, 1}};
    if (fault == 2) lookup.tables[0].rows = few;
    if (fault == 2) update.tables[0].gradients = few;
    Outcome looked, updated;
    pooling_->Lookup(&lookup, looked.done());
    EXPECT_EQ(looked.status->code(), Code::kInvalidArgument) << fault;
    pooling_->Update(&update, updated.done());
    EXPECT_EQ(updated.status->code(), Code::kInvalidArgument) << fault;
  }
  EXPECT_TRUE(watched_->lookups().empty());
  EXPECT_TRUE(watched_->updates().empty());
}

TEST_F(PoolingServiceTest, RefusesRowsThatNoMemoryShouldHold) {
  Ids ids(20000);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
  const std::vector<uint32_t> offsets = {0, 20000};
  TableIds bags;
  bags.table = HashName("a");
  bags.dim = 1 << 16;
  bags.ids = ids;
  bags.combiner = Combiner::kSum;
  bags.bag_offsets = offsets;
  Floats rows(bags.dim);
  LookupRequest request;
  request.tables = {{bags, rows}};
  Outcome outcome;
  pooling_->Lookup(&request, outcome.done());
  EXPECT_EQ(outcome.status->code(), Code::kResourceExhausted);
  EXPECT_TRUE(watched_->lookups().empty());
}

TEST_F(PoolingServiceTest, EndingItCancelsWhatIsUnderWay) {
  watched_->HoldLookups(true);
  Floats rows(3 * kDim);
  LookupRequest request;
  request.tables = {{batch_.Of("a", Combiner::kSum), rows}};
  Outcome outcome;
  pooling_->Lookup(&request, outcome.done());
  pooling_.reset();
  EXPECT_EQ(outcome.status->code(), Code::kCancelled);
}

}  // namespace
}  // namespace persia
