// Pace: how fast work in the background goes on while requests are served.
//
// What reads all rows would take a core from those that train beside it. So
// while requests come, the last one a second ago at most, it rests after each
// piece of work for so long that it computes for a tenth of the machine's
// processor time; cores count, not quotas of containers. What it waits for a
// device is no work.
//
// Not thread-safe: it belongs to the thread that works.

#ifndef PERSIA_CC_SERVICE_PACE_H_
#define PERSIA_CC_SERVICE_PACE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace persia {

class Pace {
 public:
  // By which it tells how long to rest. Seconds, but for `requests`: how many
  // there were so far.
  struct Senses {
    std::function<uint64_t()> requests;
    std::function<double()> time;
    std::function<double()> computed;  // By this thread.
    std::function<void(double)> sleep;
  };

  // Of this machine, by the calling thread.
  explicit Pace(std::function<uint64_t()> requests);
  Pace(Senses senses, unsigned cores);

  // Between two pieces of work; the first call begins the first one. Blocks for
  // kLongestRest seconds at most.
  void Rest();

  static constexpr double kLongestRest = 0.1;

 private:
  bool IsInUse();

  const Senses senses_;
  const double rests_per_work_;
  std::optional<double> begin_;  // Of the work, in computed seconds.
  uint64_t requests_ = 0;
  std::optional<double> last_request_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_PACE_H_
