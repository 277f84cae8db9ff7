#include "cc/service/worker_service.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/cc/service/plain_requests.h"
#include "tests/cc/service/watched_service.h"
#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

class WorkerServiceTest : public ::testing::Test {
 protected:
  void Make(uint64_t cache_rows) {
    auto watched = std::make_unique<WatchedService>();
    watched_ = watched.get();
    service_ = MakeWorkerService(std::move(watched), cache_rows,
                                 [](ServiceStats* own) { own->retries = 17; });
    ASSERT_TRUE(CreateNow(service_.get(), MakeConfig("t", 1, "ones")).ok());
  }

  void LookUp(const Ids& ids) {
    PlainLookup lookup("t", 1, ids);
    lookup.request.client = 7;
    EXPECT_EQ(lookup.Start(service_.get()).rows(), Floats(ids.size(), 1.0f));
  }

  std::vector<ServiceStats> Stats(bool only_own = false) {
    StatsRequest request;
    request.only_own = only_own;
    Outcome outcome;
    service_->Stats(&request, outcome.done());
    EXPECT_TRUE(outcome.status->ok());
    return request.processes;
  }

  WatchedService* watched_ = nullptr;
  std::unique_ptr<EmbeddingService> service_;
};

TEST_F(WorkerServiceTest, PoolsBagsFromCopies) {
  Make(100);
  for (int i = 0; i < 2; ++i) {
    const Ids ids = {1, 2, 1};
    const std::vector<uint32_t> offsets = {0, 3};
    PlainLookup lookup("t", 1, {0});
    lookup.request.client = 7;
    lookup.request.tables[0].ids.ids = ids;
    lookup.request.tables[0].ids.combiner = Combiner::kSum;
    lookup.request.tables[0].ids.bag_offsets = offsets;
    EXPECT_EQ(lookup.Start(service_.get()).rows(), Floats{3});
  }
  ASSERT_EQ(watched_->lookups().size(), 1u);
  EXPECT_EQ(watched_->lookups()[0].ids, (std::vector<Ids>{{1, 2}}));
}

TEST_F(WorkerServiceTest, JoinsLookupsThatWait) {
  Make(0);
  watched_->HoldLookups(true);
  std::vector<std::unique_ptr<PlainLookup>> lookups;
  for (int trainer = 0; trainer < 8; ++trainer) {
    lookups.push_back(std::make_unique<PlainLookup>("t", 1, Ids{1, 2}));
    lookups.back()->Start(service_.get());
  }
  watched_->HoldLookups(false);
  while (watched_->held_lookups() > 0) watched_->ReleaseLookup();
  for (const auto& lookup : lookups) EXPECT_EQ(lookup->rows(), Floats(2, 1));
  EXPECT_LT(watched_->ids_looked_up(), 8u * 2);
}

TEST_F(WorkerServiceTest, WithoutACacheEveryLookupIsAskedFor) {
  Make(0);
  LookUp({1});
  LookUp({1});
  EXPECT_EQ(watched_->lookups().size(), 2u);
  EXPECT_TRUE(Stats().at(0).tables.empty());
}

TEST_F(WorkerServiceTest, TellsOfItselfInFrontOfTheShards) {
  Make(100);
  LookUp({1, 2});
  LookUp({2, 3});
  PlainUpdate update("t", 1, {1}, 1.0f);
  update.Start(service_.get(), 7, 1);
  const std::vector<ServiceStats> processes = Stats();
  ASSERT_EQ(processes.size(), 2u);
  const ServiceStats& own = processes[0];
  EXPECT_EQ(own.address, "");
  EXPECT_EQ(own.lookups, 2u);
  EXPECT_EQ(own.updates, 1u);
  ASSERT_EQ(own.tables.size(), 1u);
  EXPECT_EQ(own.tables[0].name, "t");
  EXPECT_EQ(own.tables[0].dim, 1u);
  EXPECT_EQ(own.tables[0].rows, 3u);
  EXPECT_GT(own.tables[0].bytes, 0u);
  EXPECT_EQ(own.tables[0].index_slots, 100u);
  EXPECT_EQ(own.tables[0].rows_looked_up, 4u);
  EXPECT_EQ(own.tables[0].rows_found, 1u);
  EXPECT_EQ(processes[1].address, "embedded");
  EXPECT_EQ(processes[1].tables[0].rows, 3u);
}

TEST_F(WorkerServiceTest, TellsOfItselfAlone) {
  Make(0);
  LookUp({1});
  const std::vector<ServiceStats> processes = Stats(/*only_own=*/true);
  ASSERT_EQ(processes.size(), 1u);
  EXPECT_EQ(processes[0].role, "worker");
  EXPECT_EQ(processes[0].lookups, 1u);
  EXPECT_EQ(processes[0].retries, 17u);
}

}  // namespace
}  // namespace persia
