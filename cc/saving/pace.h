// Pace: throttles background work while requests are served.
//
// A background job that reads all rows would take a core from the training
// beside it. If the last request arrived less than a second ago, the job
// therefore sleeps after each piece of work. The sleep is long enough (but at
// most kLongestRest) that the job uses at most a tenth of the processor time of
// all the machine's cores, whatever quota a container has. Time in which the
// job waits for a device or for another process does not count as work.
//
// Not thread-safe: only the thread that does the work may use it.

#ifndef PERSIA_CC_SAVING_PACE_H_
#define PERSIA_CC_SAVING_PACE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

namespace persia {

class Pace {
 public:
  using Sleep = std::function<void(double seconds)>;

  // The functions by which a Pace reads clocks, counts requests and sleeps. All
  // values are in seconds, except `requests`, the number of requests so far.
  struct Senses {
    std::function<uint64_t()> requests;
    std::function<double()> time;
    std::function<double()> computed;  // CPU time of this thread.
    Sleep sleep;
  };

  static void SleepOnThread(double seconds);

  // Uses this machine's clocks. The job uses `work` times as much processor
  // time as the calling thread does: more than 1 if others work for it.
  explicit Pace(std::function<uint64_t()> requests, double work = 1,
                Sleep sleep = SleepOnThread);
  Pace(Senses senses, unsigned cores);

  // Sleeps if requests arrive, for at most kLongestRest seconds. Call it before
  // each piece of work; the first call does not sleep.
  void Rest();

  // Whether requests arrived shortly before the last Rest.
  bool is_in_use() const { return is_in_use_; }

  static constexpr double kLongestRest = 0.1;

 private:
  bool LookForRequests();

  const Senses senses_;
  const double rests_per_work_;
  // The value of senses_.computed() when the current piece of work began.
  std::optional<double> begin_;
  uint64_t requests_ = 0;
  bool is_in_use_ = false;
  std::optional<double> last_request_;
};

}  // namespace persia

#endif  // PERSIA_CC_SAVING_PACE_H_
