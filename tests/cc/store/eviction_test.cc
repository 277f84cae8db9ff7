#include "cc/store/eviction.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>

#include "tests/cc/store/make_config.h"

namespace persia {
namespace {

constexpr uint32_t kMost = std::numeric_limits<uint32_t>::max();

Eviction EvictionOf(const std::string& text) {
  EXPECT_TRUE(CheckEviction(SpecOf(text)).ok()) << text;
  return Eviction(SpecOf(text));
}

TEST(RowUse, AgesWithTime) {
  EXPECT_EQ((RowUse{100, 1}.Age(100)), 0u);
  EXPECT_EQ((RowUse{100, 1}.Age(130)), 30u);
}

TEST(RowUse, AgesAcrossTheClocksTurn) {
  EXPECT_EQ((RowUse{kMost - 4, 1}.Age(5)), 10u);
}

TEST(RowUse, IsNeverUsedInTheFuture) {
  EXPECT_EQ((RowUse{100, 1}.Age(90)), 0u);
  EXPECT_EQ((RowUse{5, 1}.Age(kMost - 4)), 0u);
}

TEST(RowUse, NotesTimeAndCount) {
  RowUse use = {10, 1};
  use.Note(15);
  EXPECT_EQ(use.last, 15u);
  EXPECT_EQ(use.count, 2u);
  use.Note(12);  // A request that began earlier.
  EXPECT_EQ(use.last, 15u);
  EXPECT_EQ(use.count, 3u);
}

TEST(RowUse, NotesTimesAcrossTheClocksTurn) {
  RowUse use = {kMost - 1, 1};
  use.Note(3);
  EXPECT_EQ(use.last, 3u);
}

TEST(RowUse, CountsUpToItsLargestValue) {
  RowUse use = {0, kMost - 1};
  for (uint32_t time = 0; time < 4; ++time) use.Note(time);
  EXPECT_EQ(use.count, kMost);
}

TEST(Eviction, KnowsWhatItDoes) {
  EXPECT_FALSE(EvictionOf("never").evicts());
  for (const char* text : {"lru", "lfu"}) {
    EXPECT_TRUE(EvictionOf(text).evicts());
    EXPECT_FALSE(EvictionOf(text).expires());
    EXPECT_EQ(EvictionOf(text).unit(), Eviction::Unit::kSteps);
  }
  EXPECT_TRUE(EvictionOf("ttl(steps=1)").expires());
  EXPECT_EQ(EvictionOf("ttl(steps=1)").unit(), Eviction::Unit::kSteps);
  EXPECT_EQ(EvictionOf("ttl(seconds=1)").unit(), Eviction::Unit::kSeconds);
}

TEST(EvictionExpired, IsSoAfterItsTime) {
  for (const char* text : {"ttl(steps=10)", "ttl(seconds=10)"}) {
    const Eviction ttl = EvictionOf(text);
    EXPECT_FALSE(ttl.Expired({100, 1}, 110));
    EXPECT_TRUE(ttl.Expired({100, 1}, 111));
    EXPECT_FALSE(ttl.Expired({kMost, 1}, 9));
    EXPECT_TRUE(ttl.Expired({kMost, 1}, 10));
  }
}

TEST(EvictionExpired, ALongestTimeIsNotOver) {
  const Eviction ttl = EvictionOf("ttl(steps=2147483647)");
  EXPECT_FALSE(ttl.Expired({0, 1}, 2147483647));
}

TEST(EvictionExpired, IsNeverSoWithoutATime) {
  for (const char* text : {"never", "lru", "lfu"}) {
    EXPECT_FALSE(EvictionOf(text).Expired({0, 1}, 1u << 30));
  }
}

TEST(EvictionRank, OfLruIsByTheLastUseAlone) {
  for (const char* text : {"lru", "ttl(steps=100000)"}) {
    const Eviction lru = EvictionOf(text);
    EXPECT_LT(lru.Rank({10, 500}, 1000), lru.Rank({11, 1}, 1000)) << text;
    EXPECT_EQ(lru.Rank({10, 500}, 1000), lru.Rank({10, 1}, 1000)) << text;
  }
}

TEST(EvictionRank, OfLruGoesAcrossTheClocksTurn) {
  const Eviction lru = EvictionOf("lru");
  EXPECT_LT(lru.Rank({kMost - 10, 1}, 20), lru.Rank({5, 1}, 20));
}

TEST(EvictionRank, OfLfuIsByTheCountThenByTheLastUse) {
  const Eviction lfu = EvictionOf("lfu");
  EXPECT_LT(lfu.Rank({900, 3}, 1000), lfu.Rank({10, 4}, 1000));
  EXPECT_LT(lfu.Rank({10, 3}, 1000), lfu.Rank({900, 3}, 1000));
}

TEST(EvictionRank, OfLfuIsHighestForRecentRows) {
  const Eviction lfu = EvictionOf("lfu");
  const uint32_t now = 1000;
  const RowUse old_and_frequent = {now - Eviction::kRecent, kMost};
  const RowUse recent = {now - Eviction::kRecent + 1, 1};
  EXPECT_LT(lfu.Rank(old_and_frequent, now), lfu.Rank(recent, now));
  EXPECT_LT(lfu.Rank(recent, now), lfu.Rank({now, 2}, now));
}

TEST(EvictionRank, RisesWithEveryUse) {
  for (const char* text : {"lru", "lfu", "ttl(seconds=5)"}) {
    const Eviction eviction = EvictionOf(text);
    RowUse use = {10, 7};
    const uint64_t before = eviction.Rank(use, 20);
    use.Note(11);
    EXPECT_GT(eviction.Rank(use, 20), before) << text;
  }
}

// A policy, and the whole error message that it gives.
using BadEviction = std::pair<const char*, const char*>;
class CheckEvictionRefuses : public ::testing::TestWithParam<BadEviction> {};

TEST_P(CheckEvictionRefuses, SayingParameterRuleAndValue) {
  const auto [text, message] = GetParam();
  const Status status = CheckEviction(SpecOf(text));
  EXPECT_EQ(status.code(), Code::kInvalidArgument) << text;
  EXPECT_EQ(status.message(), message);
}

INSTANTIATE_TEST_SUITE_P(
    BadEvictions, CheckEvictionRefuses,
    ::testing::Values(
        BadEviction("fifo",
                    "eviction must be never, lru, lfu or ttl, received "
                    "\"fifo\""),
        BadEviction("lru(count=1)",
                    "eviction lru has no parameter count; it has none"),
        BadEviction("ttl(days=1)",
                    "eviction ttl has no parameter days; it has steps, "
                    "seconds"),
        BadEviction("ttl",
                    "eviction ttl: either steps or seconds must be given, "
                    "received ttl"),
        BadEviction("ttl(seconds=1,steps=1)",
                    "eviction ttl: either steps or seconds must be given, "
                    "received ttl(seconds=1,steps=1)"),
        BadEviction("ttl(steps=0)",
                    "eviction ttl: steps must be a whole number from 1 to "
                    "2147483647, received 0"),
        BadEviction("ttl(seconds=0.5)",
                    "eviction ttl: seconds must be a whole number from 1 to "
                    "2147483647, received 0.5"),
        BadEviction("ttl(steps=2147483648)",
                    "eviction ttl: steps must be a whole number from 1 to "
                    "2147483647, received 2147483648")));

}  // namespace
}  // namespace persia
