#include "cc/base/latency_histogram.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <numeric>
#include <thread>
#include <vector>

namespace persia {
namespace {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

// The bucket in which a duration is counted.
size_t BucketOf(Clock::duration duration) {
  LatencyHistogram histogram;
  histogram.Add(duration);
  const std::vector<uint64_t> buckets = histogram.Get().buckets;
  EXPECT_EQ(std::accumulate(buckets.begin(), buckets.end(), uint64_t{0}), 1u);
  size_t bucket = 0;
  while (buckets[bucket] == 0) ++bucket;
  return bucket;
}

TEST(LatencyHistogramTest, ABoundBelongsToItsBucket) {
  EXPECT_EQ(BucketOf(nanoseconds(0)), 0u);
  EXPECT_EQ(BucketOf(microseconds(16)), 0u);
  EXPECT_EQ(BucketOf(microseconds(16) + nanoseconds(1)), 1u);
  EXPECT_EQ(BucketOf(microseconds(32)), 1u);
  const auto last = microseconds(16 << (LatencyHistogram::kBuckets - 2));
  EXPECT_EQ(BucketOf(last), LatencyHistogram::kBuckets - 2);
  EXPECT_EQ(BucketOf(last + nanoseconds(1)), LatencyHistogram::kBuckets - 1);
  EXPECT_EQ(BucketOf(std::chrono::hours(1)), LatencyHistogram::kBuckets - 1);
}

TEST(LatencyHistogramTest, BoundsAreSeconds) {
  EXPECT_DOUBLE_EQ(LatencyHistogram::BoundSeconds(0), 16e-6);
  EXPECT_DOUBLE_EQ(LatencyHistogram::BoundSeconds(1), 32e-6);
  EXPECT_DOUBLE_EQ(LatencyHistogram::BoundSeconds(20), 16.777216);
}

TEST(LatencyHistogramTest, CountsOfSeveralThreadsAddUp) {
  constexpr uint64_t kEach = 10000;
  LatencyHistogram histogram;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (uint64_t i = 0; i < kEach; ++i) histogram.Add(microseconds(20));
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(histogram.Get().buckets[1], 4 * kEach);
  EXPECT_EQ(histogram.Get().nanoseconds, 4 * kEach * 20000);
}

}  // namespace
}  // namespace persia
