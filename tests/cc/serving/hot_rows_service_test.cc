#include "cc/serving/hot_rows_service.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "tests/cc/pipeline/fake_service.h"
#include "tests/cc/serving/remote_lookups.h"

namespace persia {
namespace {

// The tests' clock, in seconds.
std::atomic<int> now_seconds{1000};

Clock::time_point TestNow() {
  return Clock::time_point(std::chrono::seconds(now_seconds));
}

// Reports odd ids as ids whose shard did not answer.
class LosingService : public ForwardingService {
 public:
  using ForwardingService::ForwardingService;

  void Lookup(LookupRequest* request, DoneCallback done) override {
    for (TableLookup& table : request->tables) {
      for (uint32_t i = 0; i < table.ids.ids.size(); ++i) {
        if (table.ids.ids[i] % 2 != 0) table.unanswered.push_back(i);
      }
    }
    inner()->Lookup(request, std::move(done));
  }
};

class HotRowsServiceTest : public ::testing::Test {
 protected:
  HotRowsServiceTest() { Make(/*rows=*/100, /*seconds=*/10); }

  void Make(uint64_t rows, double seconds, bool loses = false) {
    HotRowsOptions options;
    options.rows = rows;
    options.seconds = seconds;
    options.now = &TestNow;
    auto service = MakeFakeService(control_);
    if (loses) service = std::make_unique<LosingService>(std::move(service));
    hot_rows_ = std::make_unique<HotRowsService>(std::move(service), options);
  }

  // The ids of which a lookup of `ids` asked the service; expects right rows.
  Ids Asked(const Ids& ids) {
    const size_t before = control_->lookups();
    EXPECT_EQ(LookUp(ids), FakeRows(ids));
    if (control_->lookups() == before) return {};
    return control_->WaitForLookups(before + 1).back().tables[0].ids;
  }

  Floats LookUp(const Ids& ids) {
    ServiceLookup lookup(ids);
    return lookup.Start(hot_rows_.get()).rows();
  }

  const TableKey table_ = HashName("t");
  const std::shared_ptr<FakeControl> control_ = std::make_shared<FakeControl>();
  std::unique_ptr<HotRowsService> hot_rows_;
};

TEST_F(HotRowsServiceTest, CopiesAnswerUntilTheyAreTooOld) {
  EXPECT_EQ(Asked({1, 2}), (Ids{1, 2}));
  now_seconds += 10;
  EXPECT_EQ(Asked({2, 3, 1}), Ids{3});
  now_seconds += 1;
  EXPECT_EQ(Asked({1, 3}), Ids{1});
}

TEST_F(HotRowsServiceTest, CopiesAreAsOldAsTheirQuestions) {
  control_->HoldLookups(true);
  ServiceLookup lookup({1});
  lookup.Start(hot_rows_.get());
  now_seconds += 6;
  control_->ReleaseAll();
  lookup.Wait();
  EXPECT_EQ(Asked({1}), Ids{});
  now_seconds += 5;
  EXPECT_EQ(Asked({1}), Ids{1});
}

TEST_F(HotRowsServiceTest, WithoutRowsOrTimeThereAreNoCopies) {
  Make(0, 10);
  EXPECT_EQ(Asked({1}), Ids{1});
  EXPECT_EQ(Asked({1}), Ids{1});
  Make(100, 0);
  EXPECT_EQ(Asked({1}), Ids{1});
  EXPECT_EQ(Asked({1}), Ids{1});
  EXPECT_EQ(hot_rows_->stats().rows, 0u);
}

TEST_F(HotRowsServiceTest, CopiesAnswerThoseWhoWantTheSameOfAbsentIds) {
  const auto asks = [&](AbsentRows absent) {
    const size_t before = control_->lookups();
    ServiceLookup lookup({1});
    lookup.request.tables[0].absent = absent;
    lookup.Start(hot_rows_.get()).rows();
    return control_->lookups() > before;
  };
  for (const auto absent :
       {AbsentRows::kDefault, AbsentRows::kInitial, AbsentRows::kMarked}) {
    EXPECT_TRUE(asks(absent));
    EXPECT_FALSE(asks(absent));
  }
  EXPECT_EQ(hot_rows_->stats().rows, 3u);
  ExpectOk(hot_rows_->Erase(table_, Ids{1}));
  now_seconds += 1;
  for (const auto absent :
       {AbsentRows::kDefault, AbsentRows::kInitial, AbsentRows::kMarked}) {
    EXPECT_TRUE(asks(absent));
  }
}

TEST_F(HotRowsServiceTest, FollowedCopiesDoNotGrowOld) {
  Make(100, 0);
  hot_rows_->SetFollowed(true);
  EXPECT_EQ(Asked({1}), Ids{1});
  now_seconds += 1000000;
  EXPECT_EQ(Asked({1}), Ids{});
  hot_rows_->SetFollowed(false);
  EXPECT_EQ(Asked({1}), Ids{1});
}

TEST_F(HotRowsServiceTest, WhoBeginsToFollowDoesNotAnswerForEarlierCopies) {
  EXPECT_EQ(Asked({1}), Ids{1});
  now_seconds += 5;
  hot_rows_->SetFollowed(true);
  EXPECT_EQ(Asked({1}), Ids{});
  now_seconds += 6;
  EXPECT_EQ(Asked({1}), Ids{1});
}

TEST_F(HotRowsServiceTest, ChangesReplaceCopies) {
  LookUp({1, 2, 3});
  ExpectOk(
      hot_rows_->Refresh(table_, kRemoteDim, Ids{2, 9}, Floats{5, 6, 7, 8}));
  ExpectOk(hot_rows_->Erase(table_, Ids{3}));
  EXPECT_EQ(LookUp({1, 2}), (Floats{1, 1, 5, 6}));
  ++now_seconds;
  EXPECT_EQ(Asked({1, 3, 9}).size(), 2u);  // 9 was never looked up before.
  ++now_seconds;
  EXPECT_EQ(Asked({3, 9}), Ids{});
}

TEST_F(HotRowsServiceTest, ChangesOfTablesWithoutCopiesArePassedOver) {
  ExpectOk(hot_rows_->Refresh(table_, kRemoteDim, Ids{1}, Floats{5, 6}));
  LookUp({1});
  ExpectOk(hot_rows_->Refresh(table_, 1, Ids{1}, Floats{5}));
  ExpectOk(hot_rows_->Erase(HashName("other"), Ids{1}));
  EXPECT_EQ(Asked({1}), Ids{});
}

TEST_F(HotRowsServiceTest, AnAnswerFromBeforeAChangeIsNotCopied) {
  hot_rows_->SetFollowed(true);
  LookUp({1});
  control_->HoldLookups(true);
  ServiceLookup lookup({2});
  lookup.Start(hot_rows_.get());
  now_seconds += 1;
  ExpectOk(hot_rows_->Refresh(table_, kRemoteDim, Ids{2}, Floats{5, 6}));
  control_->ReleaseAll();
  EXPECT_EQ(lookup.rows(), FakeRows({2}));
  now_seconds += 1;
  EXPECT_EQ(Asked({1, 2}), Ids{2});
}

TEST_F(HotRowsServiceTest, WhatNobodyAnsweredIsNotCopied) {
  Make(100, 10, /*loses=*/true);
  Asked({1, 2, 3, 4});
  EXPECT_EQ(Asked({1, 2, 3, 4}), (Ids{1, 3}));
}

TEST_F(HotRowsServiceTest, ARestoreEndsAllCopies) {
  LookUp({1, 2});
  ++now_seconds;
  control_->SetGeneration(1);
  // The copy of 1 is older than the restore, so both ids are asked for again.
  EXPECT_EQ(Asked({1, 3}), (Ids{1, 3}));
  EXPECT_EQ(Asked({2}), Ids{2});
}

TEST_F(HotRowsServiceTest, FailuresPass) {
  control_->HoldLookups(true);
  ServiceLookup lookup({1});
  lookup.Start(hot_rows_.get());
  control_->CompleteLookup(Status(Code::kUnavailable, "shard 1 is away"));
  EXPECT_EQ(lookup.status().message(), "shard 1 is away");
}

TEST_F(HotRowsServiceTest, ManyThreadsLookUpAndTellOfChanges) {
  hot_rows_->SetFollowed(true);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int64_t i = 0; i < 500; ++i) {
        const Ids ids{i % 50, 100 + t};
        EXPECT_EQ(LookUp(ids), FakeRows(ids));
        ExpectOk(hot_rows_->Refresh(table_, kRemoteDim, ids, FakeRows(ids)));
        ExpectOk(hot_rows_->Erase(table_, Ids{i % 7}));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(hot_rows_->stats().rows, 100u);
}

}  // namespace
}  // namespace persia
