#include "cc/serving/remote_tables.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "tests/cc/pipeline/fake_service.h"
#include "tests/cc/serving/remote_lookups.h"

namespace persia {
namespace {

class RemoteTablesTest : public ::testing::Test {
 protected:
  void Make(const RemoteOptions& options, double hot_seconds = 0) {
    RemoteAccess access;
    access.addresses = {"a:1", "b:2"};
    HotRowsOptions copies;
    copies.rows = hot_seconds > 0 ? 100 : 0;
    copies.seconds = hot_seconds;
    tables_ =
        MakeRemoteTables(MakeFakeService(control_), options, access, copies);
  }

  static RemoteOptions Options() {
    RemoteOptions options;
    options.cluster = "ps";
    options.timeout_seconds = 60;
    return options;
  }

  // A lookup that lives as long as the test.
  OpLookup& Start(const std::string& op, const Ids& ids) {
    return lookups_.emplace_back(op, ids).Start(tables_.get());
  }

  const std::shared_ptr<FakeControl> control_ = std::make_shared<FakeControl>();
  std::shared_ptr<RemoteTables> tables_;
  std::deque<OpLookup> lookups_;
};

TEST_F(RemoteTablesTest, EachIdIsAskedForOnceAndReadOnly) {
  Make(Options());
  EXPECT_EQ(Start("user", {3, 1, 3, 3}).rows(), FakeRows({3, 1, 3, 3}));
  const SeenLookup seen = control_->WaitForLookups(1)[0];
  EXPECT_TRUE(seen.read_only);
  EXPECT_EQ(seen.tables[0].table, HashName("user"));
  EXPECT_EQ(seen.tables[0].ids.size(), 2u);
  const RemoteCounters counters = tables_->counters();
  EXPECT_EQ(counters.lookups, 1u);
  EXPECT_EQ(counters.ids, 4u);
  EXPECT_EQ(counters.unique_ids, 2u);
  EXPECT_EQ(counters.requests, 1u);
  EXPECT_EQ(counters.failures, 0u);
}

TEST_F(RemoteTablesTest, NoIdsNeedNobody) {
  Make(Options());
  EXPECT_EQ(Start("user", {}).rows(), Floats{});
  EXPECT_EQ(control_->lookups(), 0u);
}

TEST_F(RemoteTablesTest, LookupsThatComeTogetherLeaveTogether) {
  Make(Options());
  control_->HoldLookups(true);
  for (int op = 0; op < 26; ++op) Start(Concat("op", op), {op, op + 1});
  // Until the number of ops is known, lookups wait a while for others. That
  // wait may end between any two of them.
  control_->WaitForLookups(1);
  control_->ReleaseAll();
  for (OpLookup& lookup : lookups_) lookup.Wait();
  size_t tables = 0;
  for (const SeenLookup& seen : control_->WaitForLookups(1)) {
    tables += seen.tables.size();
  }
  EXPECT_EQ(tables, 26u);
  EXPECT_EQ(lookups_[25].rows(), FakeRows({25, 26}));
}

TEST_F(RemoteTablesTest, AFailureNamesTheShardAndIsCounted) {
  Make(Options());
  control_->HoldLookups(true);
  OpLookup& lookup = Start("user", {1});
  control_->WaitForLookups(1);
  control_->CompleteLookup(Status(Code::kUnavailable, "shard 1 is away"));
  EXPECT_EQ(lookup.status().code(), Code::kUnavailable);
  EXPECT_NE(lookup.status().message().find("shard 1 is away"),
            std::string::npos);
  control_->ReleaseAll();
  EXPECT_EQ(tables_->counters().failures, 1u);
  EXPECT_EQ(Start("user", {1}).rows(), FakeRows({1}));
}

TEST_F(RemoteTablesTest, AFailureMayGiveZeros) {
  RemoteOptions options = Options();
  options.zeros_for_outages = true;
  Make(options, /*hot_seconds=*/1000);
  EXPECT_EQ(Start("user", {1}).rows(), FakeRows({1}));
  control_->HoldLookups(true);
  OpLookup& lookup = Start("user", {1, 2, 2});
  control_->WaitForLookups(2);
  control_->CompleteLookup(Status(Code::kDeadlineExceeded, "too late"));
  EXPECT_EQ(lookup.rows(), (Floats{1, 1, 0, 0, 0, 0}));
  control_->ReleaseAll();
  EXPECT_EQ(tables_->counters().failures, 1u);
  EXPECT_EQ(tables_->counters().zeros, 1u);
  // The zeros are not kept as the row.
  EXPECT_EQ(Start("user", {2}).rows(), FakeRows({2}));
}

TEST_F(RemoteTablesTest, CopiesAnswerAndFollowChanges) {
  Make(Options(), /*hot_seconds=*/1000);
  EXPECT_EQ(Start("user", {1, 2}).rows(), FakeRows({1, 2}));
  ExpectOk(
      tables_->Refresh(HashName("user"), kRemoteDim, Ids{2}, Floats{7, 8}));
  EXPECT_EQ(Start("user", {2, 1}).rows(), (Floats{7, 8, 1, 1}));
  ExpectOk(tables_->Erase(HashName("user"), Ids{2}));
  EXPECT_EQ(Start("user", {2}).rows(), FakeRows({2}));
  EXPECT_EQ(control_->lookups(), 2u);
  EXPECT_EQ(tables_->counters().hot_hits, 2u);
  EXPECT_EQ(tables_->counters().hot_misses, 3u);
}

TEST_F(RemoteTablesTest, LatenciesAreCountedBeforeTheCallerKnows) {
  Make(Options());
  Start("user", {1}).Wait();
  const auto latencies = tables_->counters().latencies;
  EXPECT_EQ(std::accumulate(latencies.begin(), latencies.end(), uint64_t{0}),
            1u);
}

TEST_F(RemoteTablesTest, ManyThreadsLookUpAtOnce) {
  Make(Options());
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (int64_t i = 0; i < 100; ++i) {
        OpLookup a("a", {i, t, i});
        OpLookup b("b", {t});
        a.Start(tables_.get());
        b.Start(tables_.get());
        EXPECT_EQ(a.rows(), FakeRows({i, t, i}));
        EXPECT_EQ(b.rows(), FakeRows({t}));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(tables_->counters().lookups, 800u);
  EXPECT_EQ(tables_->counters().requests, control_->lookups());
}

TEST_F(RemoteTablesTest, LookupsThatAreUnderWayEndWithTheirClient) {
  Make(Options());
  control_->HoldLookups(true);
  OpLookup& lookup = Start("user", {1});
  control_->WaitForLookups(1);
  tables_ = nullptr;
  control_->ReleaseAll();
  EXPECT_EQ(lookup.rows(), FakeRows({1}));
  control_->WaitUntilDestroyed();
}

// Options for the registry, with an address that no client connects to.
RemoteOptions Unused(const std::string& cluster) {
  RemoteOptions options;
  options.cluster = cluster;
  options.addresses = {"127.0.0.1:1"};
  options.timeout_seconds = 1;
  return options;
}

TEST(RemoteRegistry, EqualOptionsShareAClient) {
  auto first = FindRemoteTables(Unused("share"));
  ASSERT_TRUE(first.ok());
  auto again = FindRemoteTables(Unused("share"));
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*first, *again);
  RemoteOptions other = Unused("share");
  other.hot_rows = 1;
  auto another = FindRemoteTables(other);
  ASSERT_TRUE(another.ok());
  EXPECT_NE(*first, *another);
  EXPECT_EQ(NextRemoteTables((*first)->number()), *another);
  EXPECT_EQ((*first)->addresses(), "127.0.0.1:1");
}

TEST(RemoteRegistry, WhatIsClosedIsOpenedAnew) {
  auto first = FindRemoteTables(Unused("close"));
  ASSERT_TRUE(first.ok());
  const uint64_t number = (*first)->number();
  ExpectOk(CloseRemoteTables(number));
  EXPECT_EQ(CloseRemoteTables(number).code(), Code::kNotFound);
  auto again = FindRemoteTables(Unused("close"));
  ASSERT_TRUE(again.ok());
  EXPECT_GT((*again)->number(), number);
}

TEST(RemoteRegistry, OptionsThatCannotBeAreRefused) {
  RemoteOptions options = Unused("no name");
  EXPECT_EQ(FindRemoteTables(options).status().message(),
            "cluster must be letters, digits and _, received \"no name\"");
  options = Unused("zero");
  options.timeout_seconds = 0;
  EXPECT_EQ(FindRemoteTables(options).status().message(),
            "timeout_seconds must be above 0 and at most 1e+06, received 0");
  options = Unused("late");
  options.hot_seconds = -1;
  EXPECT_EQ(FindRemoteTables(options).status().message(),
            "hot_seconds must be from 0 to 1e+06, received -1");
  options = Unused("nowhere");
  options.addresses.clear();
  EXPECT_EQ(FindRemoteTables(options).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace persia
