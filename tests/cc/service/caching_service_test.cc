#include "cc/service/caching_service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <random>
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
constexpr uint64_t kClient = 7;

CacheOptions RowsOfEach(uint64_t rows) {
  CacheOptions options;
  options.rows = rows;
  return options;
}

// Rows start at 0, and an update adds 1.
class CachingServiceTest : public ::testing::Test {
 protected:
  CachingServiceTest() { Make(RowsOfEach(100)); }

  void Make(const CacheOptions& options) {
    auto watched = std::make_unique<WatchedService>();
    watched_ = watched.get();
    service_ = std::make_unique<CachingService>(std::move(watched), options);
    ASSERT_TRUE(Create("t").ok());
  }

  Status Create(const std::string& table, const char* admission = "always") {
    TableConfig config = MakeConfig(table, kDim, "zeros", "sgd");
    config.admission = SpecOf(admission);
    config.default_value = -1;
    return CreateNow(service_.get(), config);
  }

  // A lookup that is not started yet; it lives as long as the test.
  PlainLookup& Of(const Ids& ids, uint64_t visible = 0,
                  const std::string& table = "t") {
    PlainLookup& lookup = lookups_.emplace_back(table, kDim, ids);
    lookup.request.client = kClient;
    lookup.request.visible_sequence = visible;
    return lookup;
  }

  PlainLookup& Start(const Ids& ids, uint64_t visible = 0) {
    return Of(ids, visible).Start(service_.get());
  }

  PlainUpdate& StartUpdate(const Ids& ids, uint64_t sequence,
                           uint64_t client = kClient) {
    return updates_.emplace_back("t", kDim, ids, -1.0f)
        .Start(service_.get(), client, sequence);
  }

  // The ids that the service within was asked for by the last lookup, sorted.
  Ids Asked(const PlainLookup& lookup, size_t lookups_before) {
    EXPECT_TRUE(lookup.ended());
    const auto seen = watched_->lookups();
    if (seen.size() == lookups_before) return {};
    EXPECT_EQ(seen.size(), lookups_before + 1);
    EXPECT_EQ(seen.back().ids.size(), 1u);
    Ids ids = seen.back().ids[0];
    std::sort(ids.begin(), ids.end());
    return ids;
  }

  Ids AskedFor(const Ids& ids, uint64_t visible = 0, bool read_only = false) {
    const size_t before = watched_->lookups().size();
    PlainLookup& lookup = Of(ids, visible);
    lookup.request.read_only = read_only;
    return Asked(lookup.Start(service_.get()), before);
  }

  RowCacheStats StatsOfFirst() const { return service_->tables().at(0).rows; }

  std::deque<PlainLookup> lookups_;
  std::deque<PlainUpdate> updates_;
  WatchedService* watched_ = nullptr;
  std::unique_ptr<CachingService> service_;
};

TEST_F(CachingServiceTest, AsksForARowOnce) {
  EXPECT_EQ(AskedFor({1, 2}), (Ids{1, 2}));
  EXPECT_EQ(AskedFor({2, 1}), Ids{});
  EXPECT_EQ(lookups_.back().rows(), Floats(4, 0.0f));
  EXPECT_EQ(StatsOfFirst().hits, 2u);
  EXPECT_EQ(StatsOfFirst().misses, 2u);
}

TEST_F(CachingServiceTest, AsksForWhatItHasNotAlone) {
  StartUpdate({1, 2, 3, 4}, 1);  // No row exists yet: nothing happens.
  Start({2, 4}, 1);
  StartUpdate({4}, 1, 8);
  // Copies of 2 and 4 are from before client 8's update, which client 7 need
  // not see; the other rows come from the store.
  Start({1, 3}, 0);
  StartUpdate({1}, 2, 8);
  EXPECT_EQ(AskedFor({4, 5, 1, 6, 2}, 1), (Ids{5, 6}));
  EXPECT_EQ(lookups_.back().rows(), Floats(10, 0.0f));
}

TEST_F(CachingServiceTest, ShardStartsAreNotThoseOfTheMissingIds) {
  Start({1});  // Now only id 2 is missing.
  const std::vector<uint32_t> starts = {0, 1, 2};
  PlainLookup& lookup = Of({1, 2});
  lookup.request.tables[0].ids.shard_starts = starts;
  lookup.Start(service_.get());
  EXPECT_EQ(lookup.rows(), Floats(4, 0.0f));
  EXPECT_FALSE(watched_->lookups().back().had_shard_starts);
}

TEST_F(CachingServiceTest, AClientSeesItsOwnUpdates) {
  Start({1});
  StartUpdate({1}, 1);
  EXPECT_EQ(AskedFor({1}, 1), Ids{1});
  EXPECT_EQ(lookups_.back().rows(), (Floats{1, 1}));
  EXPECT_EQ(AskedFor({1}, 1), Ids{});
  EXPECT_EQ(lookups_.back().rows(), (Floats{1, 1}));
}

TEST_F(CachingServiceTest, WhoLagsBehindMayGetAnOlderCopy) {
  Start({1});
  StartUpdate({1}, 1);
  Start({1}, 1);
  StartUpdate({1}, 2);
  EXPECT_EQ(AskedFor({1}, 1), Ids{});
  EXPECT_EQ(lookups_.back().rows(), (Floats{1, 1}));
  EXPECT_EQ(AskedFor({1}, 2), Ids{1});
  EXPECT_EQ(lookups_.back().rows(), (Floats{2, 2}));
}

TEST_F(CachingServiceTest, AllEarlierUpdatesOfTheClientShow) {
  Of({1}).Start(watched_);  // Makes the row, and no copy.
  watched_->HoldUpdates(true);
  StartUpdate({1}, 1);
  StartUpdate({1}, 2);
  watched_->HoldLookups(true);
  PlainLookup& between = Start({1});  // The store has applied both updates.
  watched_->ReleaseUpdate();
  watched_->ReleaseUpdate();
  watched_->ReleaseLookup();
  EXPECT_EQ(between.rows(), (Floats{2, 2}));
  watched_->HoldLookups(false);
  // That lookup began before either update was acknowledged, so it is not known
  // which of them its rows show.
  EXPECT_EQ(AskedFor({1}, 2), Ids{1});
}

TEST_F(CachingServiceTest, ACopyIsAsOldAsItsRequestAndNotAsItsAnswer) {
  watched_->HoldLookups(true);
  Start({1});
  StartUpdate({1}, 1);
  watched_->ReleaseLookup();
  watched_->HoldLookups(false);
  EXPECT_EQ(AskedFor({1}, 1), Ids{1});
  EXPECT_EQ(lookups_.back().rows(), (Floats{1, 1}));
}

TEST_F(CachingServiceTest, NothingAnswersClient0) {
  Start({1});
  const size_t before = watched_->lookups().size();
  PlainLookup& nobody = Of({1});
  nobody.request.client = 0;
  EXPECT_EQ(Asked(nobody.Start(service_.get()), before), Ids{1});
}

TEST_F(CachingServiceTest, NothingAnswersWhoOrWhatItDoesNotKnow) {
  StartUpdate({1}, 5);
  Start({1}, 5);
  EXPECT_EQ(AskedFor({1}, 5), Ids{});
  EXPECT_EQ(AskedFor({1}, 6), Ids{1});  // Not acknowledged by this service.
  EXPECT_EQ(AskedFor({1}, 4), Ids{1});  // Before the first one that it knows.
  PlainLookup& stranger = Of({1}, 5);
  stranger.request.client = 8;
  const size_t before = watched_->lookups().size();
  EXPECT_EQ(Asked(stranger.Start(service_.get()), before), Ids{1});
}

TEST_F(CachingServiceTest, OneClientsRowsAnswerAnother) {
  StartUpdate({1}, 1, 8);
  Start({1});
  PlainLookup& other = Of({1}, 1);
  other.request.client = 8;
  const size_t before = watched_->lookups().size();
  EXPECT_EQ(Asked(other.Start(service_.get()), before), Ids{});
}

TEST_F(CachingServiceTest, AnEvaluationMakesNoCopies) {
  EXPECT_EQ(AskedFor({1}, 0, true), Ids{1});
  EXPECT_EQ(lookups_.back().rows(), (Floats{-1, -1}));  // The default value.
  EXPECT_EQ(AskedFor({1}, 0, true), Ids{1});
  // A training lookup makes the row although an evaluation found none.
  EXPECT_EQ(AskedFor({1}), Ids{1});
  EXPECT_EQ(lookups_.back().rows(), (Floats{0, 0}));
}

TEST_F(CachingServiceTest, AnEvaluationUsesCopiesByTheSameRule) {
  Start({1});
  EXPECT_EQ(AskedFor({1}, 0, true), Ids{});
  StartUpdate({1}, 1);
  EXPECT_EQ(AskedFor({1}, 1, true), Ids{1});
  EXPECT_EQ(lookups_.back().rows(), (Floats{1, 1}));
}

TEST_F(CachingServiceTest, AnAssignEndsCopies) {
  watched_->HoldLookups(true);
  PlainLookup& before = Start({2});
  Start({1});
  const Ids ids = {1, 2};
  const Floats weights = {5, 5, 6, 6};
  AssignRequest assign;
  assign.table = HashName("t");
  assign.dim = kDim;
  assign.ids = ids;
  assign.weights = weights;
  watched_->ReleaseLookup();
  Outcome outcome;
  service_->Assign(&assign, outcome.done());
  ASSERT_TRUE(outcome.status->ok());
  watched_->ReleaseLookup();  // The copy of 1 comes last, but is older.
  watched_->HoldLookups(false);
  EXPECT_EQ(before.rows(), (Floats{0, 0}));
  EXPECT_EQ(AskedFor(ids), ids);
  EXPECT_EQ(lookups_.back().rows(), weights);
  EXPECT_EQ(AskedFor(ids), Ids{});
}

TEST_F(CachingServiceTest, ARemoveEndsCopiesOfItsTableAlone) {
  ASSERT_TRUE(Create("u").ok());
  StartUpdate({1}, 1);
  Start({1}, 1);
  Of({1}, 1, "u").Start(service_.get());
  const Ids ids = {1};
  RemoveRequest remove;
  remove.table = HashName("t");
  remove.ids = ids;
  Outcome outcome;
  service_->Remove(&remove, outcome.done());
  EXPECT_EQ(remove.removed, 1u);
  const size_t before = watched_->lookups().size();
  EXPECT_EQ(Asked(Of({1}, 1, "u").Start(service_.get()), before), Ids{});
  EXPECT_EQ(AskedFor({1}, 1, true), Ids{1});
  EXPECT_EQ(lookups_.back().rows(), (Floats{-1, -1}));
}

TEST_F(CachingServiceTest, AFailedUpdateEndsAllCopiesAndForgetsItsClient) {
  StartUpdate({1}, 1);
  Start({1}, 1);
  watched_->HoldUpdates(true);
  StartUpdate({1}, 2);
  watched_->ReleaseUpdate(Status(Code::kDeadlineExceeded, "too slow"));
  EXPECT_EQ(updates_.back().code(), Code::kDeadlineExceeded);
  EXPECT_EQ(AskedFor({1}), Ids{1});
  EXPECT_EQ(AskedFor({1}), Ids{});
  EXPECT_EQ(AskedFor({1}, 1), Ids{1});  // The store may still apply update 2.
  watched_->HoldUpdates(false);
  StartUpdate({1}, 3);
  EXPECT_EQ(AskedFor({1}, 3), Ids{1});
  EXPECT_EQ(AskedFor({1}, 3), Ids{});
}

TEST_F(CachingServiceTest, TellsTheGenerationOfItsCopies) {
  watched_->SetGeneration(3);
  ASSERT_TRUE(Create("t").ok());
  Start({1});
  EXPECT_EQ(lookups_.back().request.generation, 3u);
  EXPECT_EQ(AskedFor({1}), Ids{});
  EXPECT_EQ(lookups_.back().request.generation, 3u);
}

TEST_F(CachingServiceTest, AnotherGenerationEndsAllCopies) {
  ASSERT_TRUE(Create("u").ok());
  for (const bool by_create : {true, false}) {
    Start({1, 2});
    EXPECT_EQ(AskedFor({1}), Ids{});
    watched_->SetGeneration(by_create ? 4 : 5);
    if (by_create) {
      ASSERT_TRUE(Create("t").ok());
    } else {
      Of({1}, 0, "u").Start(service_.get());
    }
    EXPECT_EQ(AskedFor({1, 2}), (Ids{1, 2}));
    EXPECT_EQ(lookups_.back().request.generation, by_create ? 4u : 5u);
  }
}

TEST_F(CachingServiceTest, CopiesAndRowsOfTwoGenerationsAreNotMixed) {
  Start({1});
  watched_->SetGeneration(4);
  const size_t before = watched_->lookups().size();
  Start({1, 2});
  // When the answer told it of the restore, it asked for all rows again.
  const auto seen = watched_->lookups();
  ASSERT_EQ(seen.size(), before + 2);
  EXPECT_EQ(seen[before].ids[0], Ids{2});
  EXPECT_EQ(seen[before + 1].ids[0], (Ids{1, 2}));
  EXPECT_EQ(lookups_.back().request.generation, 4u);
}

TEST_F(CachingServiceTest, AFetchOfAnEarlierGenerationIsNotKept) {
  watched_->HoldLookups(true);
  PlainLookup& first = Start({1});
  watched_->SetGeneration(4);
  PlainLookup& second = Start({2});
  watched_->ReleaseLookup();
  watched_->ReleaseLookup();
  watched_->HoldLookups(false);
  EXPECT_NE(first.request.generation, second.request.generation);
  EXPECT_EQ(AskedFor({1}), Ids{1});
}

TEST_F(CachingServiceTest, TablesAreCachedAsTheirOptionsSay) {
  CacheOptions options;
  options.rows_of = {{HashName("t"), 2}};
  Make(options);
  ASSERT_TRUE(Create("u").ok());
  ASSERT_EQ(service_->tables().size(), 1u);
  const CachedTable table = service_->tables()[0];
  EXPECT_EQ(table.name, "t");
  EXPECT_EQ(table.dim, kDim);
  EXPECT_EQ(table.capacity, 2u);
  Start({1, 2, 3});
  EXPECT_EQ(StatsOfFirst().rows, 2u);
  EXPECT_EQ(StatsOfFirst().evictions, 1u);
  EXPECT_EQ(AskedFor({1, 2, 3}).size(), 1u);

  options.rows = 100;
  options.rows_of = {{HashName("t"), 0}};
  Make(options);
  ASSERT_TRUE(Create("u").ok());
  ASSERT_EQ(service_->tables().size(), 1u);
  EXPECT_EQ(service_->tables()[0].name, "u");
}

TEST_F(CachingServiceTest, TablesWhoseAdmissionCountsAreNotCached) {
  ASSERT_TRUE(Create("counted", "min_count(count=2)").ok());
  EXPECT_EQ(service_->tables().size(), 1u);
  // The second training lookup lets the id in, so each lookup must reach the
  // store.
  for (int i = 0; i < 3; ++i) {
    Of({1}, 0, "counted").Start(service_.get());
  }
  EXPECT_EQ(watched_->lookups().size(), 3u);
}

TEST_F(CachingServiceTest, ATableThatNobodyMadeHereIsNotCached) {
  const TableConfig config = MakeConfig("elsewhere", kDim);
  ASSERT_TRUE(CreateNow(watched_, config).ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(Of({1}, 0, "elsewhere").Start(service_.get()).code(), Code::kOk);
  }
  EXPECT_EQ(watched_->lookups().size(), 2u);
}

TEST_F(CachingServiceTest, SeveralTablesGoInOneRequest) {
  ASSERT_TRUE(Create("u").ok());
  Start({1, 2});
  Of({8}, 0, "u").Start(service_.get());
  PlainLookup& both = Of({2, 1, 3});
  Floats rows(2 * kDim, -77.0f);
  const Ids ids = {8, 9};
  both.request.tables.push_back({PlainIds("u", kDim, ids), rows});
  const size_t before = watched_->lookups().size();
  both.Start(service_.get());
  EXPECT_EQ(both.rows(), Floats(6, 0.0f));
  EXPECT_EQ(rows, Floats(4, 0.0f));
  ASSERT_EQ(watched_->lookups().size(), before + 1);
  EXPECT_EQ(watched_->lookups().back().ids, (std::vector<Ids>{{3}, {9}}));
}

TEST_F(CachingServiceTest, MalformedRequestsAreTheStoresToRefuse) {
  Start({1});
  PlainLookup& short_of_rows = Of({1});
  short_of_rows.request.tables[0].rows = {};
  EXPECT_EQ(short_of_rows.Start(service_.get()).code(), Code::kInvalidArgument);
  PlainLookup& wide = Of({1});
  wide.request.tables[0].ids.dim = 1;
  EXPECT_EQ(wide.Start(service_.get()).code(), Code::kInvalidArgument);
  PlainLookup& unknown = Of({}, 0, "no such");
  EXPECT_EQ(unknown.Start(service_.get()).code(), Code::kNotFound);
}

TEST_F(CachingServiceTest, ALookupWithoutIdsAsksForTheGeneration) {
  Start({1});
  watched_->SetGeneration(4);
  EXPECT_EQ(Start({}).code(), Code::kOk);
  EXPECT_EQ(lookups_.back().request.generation, 4u);
}

TEST_F(CachingServiceTest, BagsPass) {
  const Ids ids = {1, 2};
  const std::vector<uint32_t> offsets = {0, 2};
  Floats rows(kDim, -77.0f);
  LookupRequest request;
  request.client = kClient;
  request.tables = {{PlainIds("t", kDim, ids), rows}};
  request.tables[0].ids.combiner = Combiner::kSum;
  request.tables[0].ids.bag_offsets = offsets;
  Outcome outcome;
  service_->Lookup(&request, outcome.done());
  EXPECT_TRUE(outcome.status->ok());
  EXPECT_EQ(rows, Floats(kDim, 0.0f));
}

TEST_F(CachingServiceTest, AnErrorOfTheRestIsTheLookups) {
  Start({1});
  watched_->HoldLookups(true);
  const PlainLookup& lookup = Start({1, 2});
  watched_->ReleaseLookup(Status(Code::kUnavailable, "away"));
  EXPECT_EQ(lookup.code(), Code::kUnavailable);
  watched_->HoldLookups(false);
  EXPECT_EQ(AskedFor({2}), Ids{2});
}

TEST_F(CachingServiceTest, EndingItCancelsWhatIsUnderWay) {
  watched_->HoldLookups(true);
  watched_->HoldUpdates(true);
  const PlainLookup& lookup = Start({1});
  const PlainUpdate& update = StartUpdate({1}, 1);
  service_.reset();
  EXPECT_EQ(lookup.code(), Code::kCancelled);
  EXPECT_EQ(update.code(), Code::kCancelled);
}

// A row counts the updates of all clients. So a row is stale if it shows fewer
// updates than the client itself has sent, up to the update that the client
// asked to see.
void TrainAndLookUp(EmbeddingService* service, uint64_t client, int rounds) {
  constexpr int64_t kIds = 16;
  std::mt19937 random(static_cast<uint32_t>(client));
  Ids all(kIds);
  for (int64_t id = 0; id < kIds; ++id) all[id] = id;
  for (int round = 1; round <= rounds; ++round) {
    PlainUpdate update("t", kDim, all, -1.0f);
    ASSERT_EQ(update.Start(service, client, round).code(), Code::kOk);
    const Ids ids(all.begin(), all.begin() + 1 + random() % kIds);
    PlainLookup lookup("t", kDim, ids);
    lookup.request.client = client;
    lookup.request.visible_sequence = round - random() % std::min(round, 4);
    lookup.request.read_only = random() % 4 == 0;
    for (const float value : lookup.Start(service).rows()) {
      ASSERT_GE(value, lookup.request.visible_sequence);
    }
  }
}

TEST(CachingServiceThreads, NoClientSeesLessThanItAsksFor) {
  CachingService service(MakeLocalService(), RowsOfEach(8));
  ASSERT_TRUE(CreateNow(&service, MakeConfig("t", kDim, "zeros", "sgd")).ok());
  PlainLookup make("t", kDim,
                   {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15});
  make.Start(&service);
  std::vector<std::thread> threads;
  for (uint64_t client = 1; client <= 4; ++client) {
    threads.emplace_back(
        [&, client] { TrainAndLookUp(&service, client, 500); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(service.tables().at(0).rows.hits, 0u);
}

}  // namespace
}  // namespace persia
