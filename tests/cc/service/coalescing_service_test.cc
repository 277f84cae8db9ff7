#include "cc/service/coalescing_service.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <thread>
#include <vector>

#include "cc/shard/local_service.h"
#include "tests/cc/service/plain_requests.h"
#include "tests/cc/service/watched_service.h"
#include "tests/cc/store/make_config.h"
#include "tests/cc/support/call_result.h"

namespace persia {
namespace {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

constexpr uint32_t kDim = 2;

class CoalescingServiceTest : public ::testing::Test {
 protected:
  CoalescingServiceTest() { Make({1, size_t{1} << 20}); }

  void Make(const CoalescingOptions& options) {
    auto watched = std::make_unique<WatchedService>();
    watched_ = watched.get();
    service_ = MakeCoalescingService(std::move(watched), options);
    ASSERT_TRUE(CreateNow(service_.get(), MakeConfig("t", kDim)).ok());
    watched_->HoldLookups(true);
  }

  // A lookup that is not started yet; it lives as long as the test.
  PlainLookup& Of(const Ids& ids, const std::string& table = "t") {
    return lookups_.emplace_back(table, kDim, ids);
  }

  PlainLookup& Start(const Ids& ids) { return Of(ids).Start(service_.get()); }

  // The rows that the store gives to a lookup that comes alone.
  Floats Stored(const Ids& ids) {
    watched_->HoldLookups(false);
    return Of(ids).Start(watched_).rows();
  }

  std::deque<PlainLookup> lookups_;
  WatchedService* watched_ = nullptr;
  std::unique_ptr<EmbeddingService> service_;
};

TEST_F(CoalescingServiceTest, ALoneLookupDoesNotWait) {
  const PlainLookup& lookup = Start({3, 1});
  EXPECT_EQ(watched_->held_lookups(), 1u);
  watched_->ReleaseLookup();
  EXPECT_EQ(lookup.rows(), Stored({3, 1}));
}

TEST_F(CoalescingServiceTest, WhatGathersGoesAsOneWithEachIdOnce) {
  Start({0});
  const Ids ids = {1, 2, 3, 4};
  for (int trainer = 0; trainer < 8; ++trainer) Start(ids);
  const PlainLookup& overlaps = Start({4, 5});
  EXPECT_EQ(watched_->lookups().size(), 1u);
  watched_->ReleaseLookup();
  ASSERT_EQ(watched_->lookups().size(), 2u);
  EXPECT_EQ(watched_->lookups()[1].ids, (std::vector<Ids>{{1, 2, 3, 4, 5}}));
  EXPECT_FALSE(lookups_[1].ended());
  watched_->ReleaseLookup();
  // 9 lookups for 34 ids became one for 5.
  EXPECT_EQ(watched_->ids_looked_up(), 1u + 5u);
  const Floats expected = Stored(ids);
  for (int trainer = 1; trainer <= 8; ++trainer) {
    EXPECT_EQ(lookups_[trainer].rows(), expected);
  }
  EXPECT_EQ(overlaps.rows(), Stored({4, 5}));
}

TEST_F(CoalescingServiceTest, AFewAreUnderWayAtOnce) {
  Make({2, size_t{1} << 20});
  for (int64_t id = 0; id < 5; ++id) Start({id});
  EXPECT_EQ(watched_->held_lookups(), 2u);
  watched_->ReleaseLookup();
  EXPECT_EQ(watched_->held_lookups(), 2u);
  EXPECT_EQ(watched_->lookups().back().ids, (std::vector<Ids>{{2, 3, 4}}));
}

TEST_F(CoalescingServiceTest, NothingJoinsWhatWasSent) {
  Start({0});
  Start({1});
  Start({1});
  watched_->ReleaseLookup();
  EXPECT_EQ(watched_->lookups().size(), 2u);
  // An update is acknowledged in between; lookups from now on must see it.
  PlainUpdate update("t", kDim, {1}, 1.0f);
  EXPECT_EQ(update.Start(service_.get(), 1, 1).code(), Code::kOk);
  const PlainLookup& later = Start({1});
  watched_->ReleaseLookup();
  EXPECT_TRUE(lookups_[1].ended());
  EXPECT_FALSE(later.ended());
  watched_->ReleaseLookup();
  EXPECT_EQ(later.rows(), Stored({1}));
  EXPECT_NE(later.rows(), lookups_[1].rows());
}

TEST_F(CoalescingServiceTest, TrainingAndEvaluationDoNotJoin) {
  Start({0});
  Start({1});
  PlainLookup& evaluation = Of({1});
  evaluation.request.read_only = true;
  evaluation.Start(service_.get());  // No read-only lookup is under way.
  ASSERT_EQ(watched_->lookups().size(), 2u);
  EXPECT_TRUE(watched_->lookups()[1].read_only);
  Of({2}).request.read_only = true;
  lookups_.back().Start(service_.get());
  watched_->ReleaseLookup();
  ASSERT_EQ(watched_->lookups().size(), 3u);
  EXPECT_FALSE(watched_->lookups()[2].read_only);
  EXPECT_EQ(watched_->lookups()[2].ids, (std::vector<Ids>{{1}}));
  watched_->ReleaseLookup();
  ASSERT_EQ(watched_->lookups().size(), 4u);
  EXPECT_TRUE(watched_->lookups()[3].read_only);
}

TEST_F(CoalescingServiceTest, TablesStayApart) {
  ASSERT_TRUE(CreateNow(service_.get(), MakeConfig("u", kDim)).ok());
  Start({0});
  Start({1});
  const PlainLookup& other = Of({1}, "u").Start(service_.get());
  watched_->ReleaseLookup();
  EXPECT_EQ(watched_->lookups().back().ids, (std::vector<Ids>{{1}, {1}}));
  watched_->ReleaseLookup();
  EXPECT_EQ(lookups_[1].rows(), Stored({1}));
  EXPECT_NE(other.rows(), lookups_[1].rows());
}

TEST_F(CoalescingServiceTest, ALookupWithoutIdsLearnsTheGeneration) {
  watched_->SetGeneration(4);
  Start({0});
  Start({1});
  const PlainLookup& empty = Start({});
  watched_->ReleaseLookup();
  watched_->ReleaseLookup();
  EXPECT_EQ(empty.code(), Code::kOk);
  EXPECT_EQ(empty.request.generation, 4u);
  EXPECT_EQ(lookups_[1].request.generation, 4u);
}

TEST_F(CoalescingServiceTest, AnErrorIsItsOwn) {
  Start({0});
  const PlainLookup& good = Start({1});
  const PlainLookup& bad = Of({1}, "no such").Start(service_.get());
  watched_->ReleaseLookup();
  watched_->HoldLookups(false);
  watched_->ReleaseLookup();
  EXPECT_EQ(bad.code(), Code::kNotFound);
  EXPECT_EQ(good.rows(), Stored({1}));
}

TEST_F(CoalescingServiceTest, AWrongWidthIsItsOwn) {
  Start({0});
  PlainLookup narrow("t", 1, {1, 2});
  narrow.Start(service_.get());
  const PlainLookup& good = Start({1, 2});
  watched_->ReleaseLookup();
  watched_->HoldLookups(false);
  watched_->ReleaseLookup();
  EXPECT_EQ(narrow.code(), Code::kInvalidArgument);
  EXPECT_EQ(good.rows(), Stored({1, 2}));
}

TEST_F(CoalescingServiceTest, WhatIsMalformedJoinsNothing) {
  Start({0});
  PlainLookup& short_of_rows = Of({1});
  short_of_rows.request.tables[0].rows = {};
  watched_->HoldLookups(false);
  EXPECT_EQ(short_of_rows.Start(service_.get()).code(), Code::kInvalidArgument);
  PlainLookup& bags = Of({1});
  bags.request.tables[0].ids.combiner = Combiner::kSum;
  EXPECT_EQ(bags.Start(service_.get()).code(), Code::kInvalidArgument);
}

TEST_F(CoalescingServiceTest, NoneWaitsForWhatMayEndAfterItsDeadline) {
  PlainLookup& slow = Of({0});
  slow.request.deadline = DeadlineAfter(900);
  slow.Start(service_.get());
  const PlainLookup& hurried = Start({1});  // Must end within 600 s.
  EXPECT_EQ(watched_->lookups().size(), 2u);
  PlainLookup& between = Of({2});
  between.request.deadline = DeadlineAfter(800);
  between.Start(service_.get());
  EXPECT_EQ(watched_->lookups().size(), 2u);
  // After the hurried lookup ends, no other is sure to end before 800 s.
  watched_->ReleaseLookup();
  EXPECT_EQ(watched_->lookups().size(), 2u);  // The slow lookup ended.
  watched_->ReleaseLookup();
  EXPECT_TRUE(hurried.ended());
  EXPECT_EQ(watched_->lookups().size(), 3u);
}

TEST_F(CoalescingServiceTest, WhoWaitedForAHurriedOneIsSentWhenThatEnds) {
  PlainLookup& hurried = Of({1});
  hurried.request.deadline = DeadlineAfter(600);
  PlainLookup& slow = Of({0});
  slow.request.deadline = DeadlineAfter(900);
  PlainLookup& between = Of({2});
  between.request.deadline = DeadlineAfter(800);
  PlainLookup& hasty = Of({3});
  hasty.request.deadline = DeadlineAfter(500);
  hurried.Start(service_.get());
  hasty.Start(service_.get());    // Cannot wait for `hurried`.
  slow.Start(service_.get());     // Waits.
  between.Start(service_.get());  // Waits.
  watched_->ReleaseLookup();
  EXPECT_TRUE(hurried.ended());
  EXPECT_EQ(watched_->lookups().size(), 2u);
  watched_->ReleaseLookup();
  // The two joined, with the earlier of both deadlines.
  ASSERT_EQ(watched_->lookups().size(), 3u);
  EXPECT_EQ(watched_->lookups()[2].ids, (std::vector<Ids>{{2, 0}}));
  EXPECT_EQ(watched_->lookups()[2].deadline, between.request.deadline);
}

TEST_F(CoalescingServiceTest, ALaterDeadlineOutlivesTheEarliest) {
  Start({0});
  PlainLookup& early = Of({1});
  early.request.deadline = lookups_[0].request.deadline;
  early.Start(service_.get());
  PlainLookup& late = Of({1});
  late.request.deadline = DeadlineAfter(900);
  late.Start(service_.get());
  watched_->ReleaseLookup();
  EXPECT_EQ(watched_->lookups()[1].deadline, early.request.deadline);
  early.request.deadline = Clock::now();  // As if the time had passed.
  watched_->ReleaseLookup(Status(Code::kDeadlineExceeded, "too slow"));
  EXPECT_EQ(early.code(), Code::kDeadlineExceeded);
  EXPECT_FALSE(late.ended());
  ASSERT_EQ(watched_->lookups().size(), 3u);
  EXPECT_EQ(watched_->lookups()[2].deadline, late.request.deadline);
  watched_->ReleaseLookup();
  EXPECT_EQ(late.rows(), Stored({1}));
}

TEST_F(CoalescingServiceTest, AJoinedLookupSeesWhatEachOfItsClientsMustSee) {
  for (const bool one_client : {true, false}) {
    Make({1, size_t{1} << 20});
    Start({0});
    for (const uint64_t sequence : {7, 9, 8}) {
      PlainLookup& lookup = Of({1});
      lookup.request.client = one_client ? 5 : sequence;
      lookup.request.visible_sequence = sequence;
      lookup.Start(service_.get());
    }
    watched_->ReleaseLookup();
    const WatchedLookup joined = watched_->lookups().at(1);
    EXPECT_EQ(joined.client, one_client ? 5u : 0u);
    EXPECT_EQ(joined.visible_sequence, 9u);
  }
}

TEST_F(CoalescingServiceTest, AJoinedLookupIsBounded) {
  Make({1, 3 * kDim * sizeof(float)});
  Start({0});
  Start({1, 2});
  Start({3});
  Start({4});
  Start({5, 6, 7, 8});  // Too large to join another lookup; sent alone.
  for (int i = 0; i < 4; ++i) watched_->ReleaseLookup();
  ASSERT_EQ(watched_->lookups().size(), 4u);
  EXPECT_EQ(watched_->lookups()[1].ids, (std::vector<Ids>{{1, 2, 3}}));
  EXPECT_EQ(watched_->lookups()[2].ids, (std::vector<Ids>{{4}}));
  EXPECT_EQ(watched_->lookups()[3].ids, (std::vector<Ids>{{5, 6, 7, 8}}));
}

TEST_F(CoalescingServiceTest, AnswersAtOnceDoNotNest) {
  Make({1, 1});  // Each goes by itself.
  for (int64_t id = 0; id < 50; ++id) Start({id});
  watched_->HoldLookups(false);
  watched_->ReleaseLookup();
  EXPECT_EQ(watched_->lookups().size(), 50u);
  EXPECT_TRUE(lookups_.back().ended());
  EXPECT_EQ(watched_->most_nested(), 1);
}

TEST_F(CoalescingServiceTest, EndingItCancelsWhatIsUnderWayAndWhatWaits) {
  Start({0});
  Start({1});
  Start({2});
  watched_->ReleaseLookup();  // The others are sent as one lookup.
  Start({3});
  service_.reset();
  for (int i = 1; i < 4; ++i) EXPECT_EQ(lookups_[i].code(), Code::kCancelled);
}

// Every answer is right whichever lookups are joined. The store answers at
// once, on the thread that asks.
TEST(CoalescingServiceThreads, LookUpAtOnce) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 300;
  const auto service = MakeCoalescingService(MakeLocalService(), {1, 1 << 20});
  ASSERT_TRUE(CreateNow(service.get(), MakeConfig("t", kDim)).ok());
  PlainLookup all("t", kDim, {0, 1, 2, 3, 4, 5, 6, 7});
  const Floats rows = all.Start(service.get()).rows();
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < kRounds; ++round) {
        const int64_t id = (round + t) % 8;
        Floats row(kDim);
        const Ids ids = {id};
        LookupRequest request;
        request.deadline = DeadlineAfter(600);
        request.tables = {{PlainIds("t", kDim, ids), row}};
        CallResult result;
        service->Lookup(&request, result.done());
        ASSERT_TRUE(result.Wait().ok());
        ASSERT_EQ(row, Floats(rows.begin() + id * kDim,
                              rows.begin() + (id + 1) * kDim));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace persia
