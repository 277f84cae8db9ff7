// Latencies: a histogram of how long calls took, with bins by powers of two.
//
// Thread-safe: each counter is atomic by itself.

#ifndef PERSIA_CC_SERVING_LATENCIES_H_
#define PERSIA_CC_SERVING_LATENCIES_H_

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "cc/base/clock.h"

namespace persia {

class Latencies {
 public:
  // Bin b counts calls that took at least 2^(b-1) and less than 2^b
  // microseconds; bin 0 those below 1, and the last bin all longer ones too.
  static constexpr size_t kBins = 32;

  void Add(Clock::duration latency) {
    const auto micros = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(latency).count());
    const size_t bits = micros == 0 ? 0 : 64 - __builtin_clzll(micros);
    bins_[std::min(bits, kBins - 1)].fetch_add(1, std::memory_order_relaxed);
  }

  std::array<uint64_t, kBins> bins() const {
    std::array<uint64_t, kBins> copy;
    for (size_t b = 0; b < kBins; ++b) copy[b] = bins_[b];
    return copy;
  }

 private:
  std::array<std::atomic<uint64_t>, kBins> bins_{};
};

}  // namespace persia

#endif  // PERSIA_CC_SERVING_LATENCIES_H_
