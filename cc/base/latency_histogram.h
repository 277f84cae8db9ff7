// LatencyHistogram: counts durations in buckets whose bounds are powers of two.
//
// Thread-safe and lock-free: each duration costs two atomic additions. Counts
// that are read during an Add may lack it in part.

#ifndef PERSIA_CC_BASE_LATENCY_HISTOGRAM_H_
#define PERSIA_CC_BASE_LATENCY_HISTOGRAM_H_

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "cc/base/clock.h"

namespace persia {

struct LatencyCounts {
  // The number of durations in each bucket. Bucket b has the durations above
  // the bound of bucket b - 1 and up to its own.
  std::vector<uint64_t> buckets;
  uint64_t nanoseconds = 0;  // The sum of all durations.
};

class LatencyHistogram {
 public:
  // The last bucket has no bound.
  static constexpr size_t kBuckets = 22;

  // The longest duration in bucket `b`, which must not be the last: 16
  // microseconds for bucket 0, twice as much for each next bucket, so 16.8 s
  // for the last one that has a bound.
  static constexpr double BoundSeconds(size_t b) {
    return static_cast<double>(kFirstMicros << b) * 1e-6;
  }

  void Add(Clock::duration duration) {
    const auto nanoseconds =
        std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count();
    const auto positive =
        static_cast<uint64_t>(nanoseconds < 0 ? 0 : nanoseconds);
    size_t b = 0;
    while (b + 1 < kBuckets && positive > (kFirstMicros << b) * 1000) ++b;
    buckets_[b].fetch_add(1, std::memory_order_relaxed);
    nanoseconds_.fetch_add(positive, std::memory_order_relaxed);
  }

  LatencyCounts Get() const {
    LatencyCounts counts;
    for (const auto& bucket : buckets_) {
      counts.buckets.push_back(bucket.load(std::memory_order_relaxed));
    }
    counts.nanoseconds = nanoseconds_.load(std::memory_order_relaxed);
    return counts;
  }

 private:
  static constexpr uint64_t kFirstMicros = 16;

  std::array<std::atomic<uint64_t>, kBuckets> buckets_{};
  std::atomic<uint64_t> nanoseconds_{0};
};

}  // namespace persia

#endif  // PERSIA_CC_BASE_LATENCY_HISTOGRAM_H_
