// StalenessMeter: a histogram of the staleness of training batches.
//
// The meter is thread-safe and holds a lock only for a short time.

#ifndef PERSIA_CC_PIPELINE_STALENESS_METER_H_
#define PERSIA_CC_PIPELINE_STALENESS_METER_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>

namespace persia {

struct StalenessHistogram {
  // The last bin counts all batches of a staleness of kBins - 1 or more.
  static constexpr size_t kBins = 65;

  // The number of batches, by staleness.
  std::array<uint64_t, kBins> batches{};
  uint64_t last = 0;  // The newest batch's staleness.
  uint64_t max = 0;
};

class StalenessMeter {
 public:
  // Counts a batch whose rows lack the updates of `staleness` earlier steps.
  void Add(uint64_t staleness) {
    std::lock_guard<std::mutex> lock(mutex_);
    const size_t last_bin = StalenessHistogram::kBins - 1;
    ++histogram_.batches[std::min<size_t>(staleness, last_bin)];
    histogram_.last = staleness;
    histogram_.max = std::max(histogram_.max, staleness);
  }

  // The newest batch's staleness.
  uint64_t last() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return histogram_.last;
  }

  StalenessHistogram Get() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return histogram_;
  }

 private:
  mutable std::mutex mutex_;
  StalenessHistogram histogram_;  // Guarded by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_STALENESS_METER_H_
