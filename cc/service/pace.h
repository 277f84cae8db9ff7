// Pace: throttles background work while requests are served.
//
// A background job that reads all rows would take a core from the training
// beside it. So while requests arrive, the last one at most a second ago, the
// job sleeps after each piece of work for long enough to use at most a tenth of
// the machine's processor time; this counts cores, not container quotas. Time
// spent waiting for a device does not count as work.
//
// Not thread-safe: it belongs to the thread that does the work.

#ifndef PERSIA_CC_SERVICE_PACE_H_
#define PERSIA_CC_SERVICE_PACE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace persia {

class Pace {
 public:
  // Its inputs, and how it sleeps. All are in seconds, except `requests`: the
  // number of requests so far.
  struct Senses {
    std::function<uint64_t()> requests;
    std::function<double()> time;
    std::function<double()> computed;  // CPU time of this thread.
    std::function<void(double)> sleep;
  };

  // Uses this machine's clocks, and sleeps on the calling thread.
  explicit Pace(std::function<uint64_t()> requests);
  Pace(Senses senses, unsigned cores);

  // Call it between two pieces of work; the first call begins the first one.
  // Blocks for kLongestRest seconds at most.
  void Rest();

  static constexpr double kLongestRest = 0.1;

 private:
  bool IsInUse();

  const Senses senses_;
  const double rests_per_work_;
  std::optional<double> begin_;  // Of this work, in `computed` seconds.
  uint64_t requests_ = 0;
  std::optional<double> last_request_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_PACE_H_
