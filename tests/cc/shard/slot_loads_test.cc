// What a shard tells of how busy each slot was.

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/cc/shard/local_service_fixture.h"

namespace persia {
namespace {

constexpr int64_t kHot = 7;
constexpr int kRequests = 20000;

class SlotLoadsTest : public LocalServiceFixture {
 protected:
  std::vector<SlotLoad> Loads() {
    SlotLoadsRequest request;
    EXPECT_TRUE(Call(&EmbeddingService::SlotLoads, &request).ok());
    std::vector<SlotLoad> loads(kSlots);
    request.AddTo(&loads);
    return loads;
  }

  static uint64_t AllIds(const std::vector<SlotLoad>& loads) {
    return std::accumulate(
        loads.begin(), loads.end(), uint64_t{0},
        [](uint64_t sum, const SlotLoad& load) { return sum + load.ids; });
  }
};

TEST_F(SlotLoadsTest, SlotsThatNobodyUsedHaveNoLoad) {
  EXPECT_EQ(AllIds(Loads()), 0u);
}

// The counts are estimates: each is within a quarter of what it stands for.
TEST_F(SlotLoadsTest, LookupsAndUpdatesCountForTheSlotsOfTheirIds) {
  Ids ids(100);
  for (int request = 0; request < kRequests; ++request) {
    std::iota(ids.begin(), ids.end(), 1000 + 100 * (request % 100));
    ids[50] = kHot;
    Look("a", 2, ids);
  }
  const auto looked_up = Loads();
  EXPECT_NEAR(AllIds(looked_up), 100.0 * kRequests, 25.0 * kRequests);
  const SlotLoad hot = looked_up[SlotOf(kHot)];
  EXPECT_NEAR(hot.ids, 1.0 * kRequests, 0.25 * kRequests);
  EXPECT_EQ(hot.bytes, hot.ids * 2 * sizeof(float));

  const Floats gradient = {1};
  const Ids hot_id = {kHot};
  for (int update = 0; update < kRequests; ++update) {
    UpdateRequest request;
    request.tables = {{IdsOf("b", 1, hot_id), gradient, 0.5f}};
    ASSERT_TRUE(Call(&EmbeddingService::Update, &request).ok());
  }
  const SlotLoad after = Loads()[SlotOf(kHot)];
  const uint64_t updated = after.ids - hot.ids;
  EXPECT_NEAR(updated, 1.0 * kRequests, 0.5 * kRequests);
  EXPECT_EQ(after.bytes - hot.bytes, updated * sizeof(float));
}

// Else the noise of their counts would not average out over slots.
TEST_F(SlotLoadsTest, IdsThatKeepTheirPlacesAreNotCountedTogether) {
  Ids ids(128);
  std::iota(ids.begin(), ids.end(), 1000);
  for (int request = 0; request < kRequests; ++request) Look("a", 2, ids);
  const auto loads = Loads();
  for (const size_t apart : {1, 2, 16, 32, 64, 96}) {
    int equal = 0;
    for (size_t i = 0; i + apart < ids.size(); ++i) {
      equal += loads[SlotOf(ids[i])].ids == loads[SlotOf(ids[i + apart])].ids;
    }
    EXPECT_LE(equal, 30) << apart;
  }
}

TEST_F(SlotLoadsTest, RequestsThatFailCountForNoSlot) {
  const Ids ids(100, kHot);
  Floats rows(ids.size());
  LookupRequest request;
  request.tables = {{IdsOf("absent", 1, ids), rows}};
  for (int turn = 0; turn < 10; ++turn) {
    EXPECT_FALSE(Call(&EmbeddingService::Lookup, &request).ok());
  }
  EXPECT_EQ(AllIds(Loads()), 0u);
}

}  // namespace
}  // namespace persia
