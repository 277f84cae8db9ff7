// StalenessMeter: a histogram of the staleness that training batches had.
//
// Thread-safe; never blocks beyond a short lock.

#ifndef PERSIA_CC_PIPELINE_STALENESS_METER_H_
#define PERSIA_CC_PIPELINE_STALENESS_METER_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>

namespace persia {

struct StalenessHistogram {
  // The last bin counts all that are that stale, or more.
  static constexpr size_t kBins = 65;

  std::array<uint64_t, kBins> batches{};  // By staleness.
  uint64_t last = 0;                      // Of the newest batch.
  uint64_t max = 0;
};

class StalenessMeter {
 public:
  // A batch whose rows do not reflect `staleness` steps before it.
  void Add(uint64_t staleness) {
    std::lock_guard<std::mutex> lock(mutex_);
    const size_t last_bin = StalenessHistogram::kBins - 1;
    ++histogram_.batches[std::min<size_t>(staleness, last_bin)];
    histogram_.last = staleness;
    histogram_.max = std::max(histogram_.max, staleness);
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
