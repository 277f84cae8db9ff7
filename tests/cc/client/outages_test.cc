// Lookups that do without the shards that cannot be reached.

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cc/base/dedupe.h"
#include "cc/base/hash.h"
#include "tests/cc/client/shards_fixture.h"
#include "tests/cc/support/call_result.h"
#include "tests/cc/support/shard_of.h"

namespace persia {
namespace {

constexpr size_t kIds = 100;

// A lookup that reads zeros for shards in outage. If `mixed`, its ids are not
// in the order of their shards.
struct Tolerant {
  explicit Tolerant(bool mixed = false, double seconds = 0.25)
      : ids(FirstIds(kIds)), rows(kIds * kRowDim, -77.0f) {
    if (!mixed) ids = Dedupe(WithOneTwice(ids), SlotOwners::Even(2).get()).ids;
    request.deadline = DeadlineAfter(seconds);
    request.read_only = true;
    request.zeros_for_outages = true;
    request.tables.resize(1);
    request.tables[0].ids.table = HashName(kUser);
    request.tables[0].ids.dim = kRowDim;
    request.tables[0].ids.ids = ids;
    request.tables[0].rows = rows;
  }

  Status Ask(EmbeddingService* service) {
    service->Lookup(&request, result.done());
    return result.Wait();
  }

  static std::vector<int64_t> WithOneTwice(std::vector<int64_t> ids) {
    ids.push_back(ids.front());
    return ids;
  }

  std::vector<int64_t> ids;
  std::vector<float> rows;
  LookupRequest request;
  CallResult result;
};

void ExpectZerosOfShard1(const Tolerant& lookup, EmbeddingService* of_shard0) {
  const std::vector<uint32_t>& lost = lookup.request.tables[0].unanswered;
  const std::set<uint32_t> unanswered(lost.begin(), lost.end());
  EXPECT_EQ(unanswered.size(), lost.size());
  for (uint32_t i = 0; i < kIds; ++i) {
    const std::vector<float> row(&lookup.rows[i * kRowDim],
                                 &lookup.rows[i * kRowDim] + kRowDim);
    const bool is_lost = ShardOf(lookup.ids[i], 2) == 1;
    EXPECT_EQ(unanswered.count(i), is_lost ? 1u : 0u);
    const std::vector<float> expected =
        is_lost ? std::vector<float>(kRowDim, 0.0f)
                : LookUpRows(of_shard0, kUser, {lookup.ids[i]});
    EXPECT_EQ(row, expected);
  }
}

TEST(OutagesTest, ADeadShardsRowsAreZeros) {
  for (const bool mixed : {false, true}) {
    Cluster cluster(2);
    LookUpRows(cluster.client(), kUser, FirstIds(kIds));  // Makes them.
    cluster.shard(1).Kill();
    Tolerant lookup(mixed);
    EXPECT_TRUE(lookup.Ask(cluster.client()).ok());
    ExpectZerosOfShard1(lookup, cluster.shard(0).service());
  }
}

TEST(OutagesTest, ASilentShardsRowsAreZeros) {
  Cluster cluster(2);
  LookUpRows(cluster.client(), kUser, FirstIds(kIds));
  cluster.shard(1).service()->Hold();
  Tolerant lookup;
  EXPECT_TRUE(lookup.Ask(cluster.client()).ok());
  ExpectZerosOfShard1(lookup, cluster.shard(0).service());
  cluster.shard(1).service()->ReleaseAll();
}

TEST(OutagesTest, WithoutAnyShardTheLookupFails) {
  Cluster cluster(2);
  cluster.shard(0).Kill();
  cluster.shard(1).Kill();
  Tolerant lookup;
  EXPECT_EQ(lookup.Ask(cluster.client()).code(), Code::kUnavailable);
}

TEST(OutagesTest, ARefusalFailsTheLookup) {
  Cluster cluster(2);
  cluster.shard(1).service()->FailNext(1, InvalidArgument("no"));
  Tolerant lookup(/*mixed=*/false, /*seconds=*/30);
  EXPECT_EQ(lookup.Ask(cluster.client()).code(), Code::kInvalidArgument);
}

TEST(OutagesTest, ARestoreIsNoOutage) {
  Cluster cluster(2);
  cluster.shard(0).service()->SetGeneration(4);
  cluster.shard(1).service()->SetGeneration(5);
  Tolerant lookup(/*mixed=*/false, /*seconds=*/30);
  const Status status = lookup.Ask(cluster.client());
  EXPECT_EQ(status.code(), Code::kFailedPrecondition);
  EXPECT_FALSE(IsOutage(status));
}

TEST(OutagesTest, OtherLookupsFail) {
  Cluster cluster(2);
  cluster.shard(1).Kill();
  Tolerant lookup;
  lookup.request.zeros_for_outages = false;
  EXPECT_EQ(lookup.Ask(cluster.client()).code(), Code::kUnavailable);
  EXPECT_TRUE(lookup.request.tables[0].unanswered.empty());
}

}  // namespace
}  // namespace persia
