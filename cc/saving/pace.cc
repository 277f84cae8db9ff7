#include "cc/saving/pace.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace persia {
namespace {

constexpr double kMostOfMachine = 0.1;
constexpr double kIdleSeconds = 1;

double Read(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) * 1e-9;
}

}  // namespace

void Pace::SleepOnThread(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

Pace::Pace(std::function<uint64_t()> requests, double work, Sleep sleep)
    : Pace({std::move(requests), [] { return Read(CLOCK_MONOTONIC); },
            [work] { return work * Read(CLOCK_THREAD_CPUTIME_ID); },
            std::move(sleep)},
           std::thread::hardware_concurrency()) {}

Pace::Pace(Senses senses, unsigned cores)
    : senses_(std::move(senses)),
      rests_per_work_(
          std::max(0.0, 1 / (kMostOfMachine * std::max(1U, cores)) - 1)) {}

void Pace::Rest() {
  is_in_use_ = LookForRequests();
  if (begin_.has_value() && is_in_use_) {
    const double worked = senses_.computed() - *begin_;
    senses_.sleep(std::min(rests_per_work_ * worked, kLongestRest));
  }
  begin_ = senses_.computed();
}

bool Pace::LookForRequests() {
  const uint64_t before = std::exchange(requests_, senses_.requests());
  const double now = senses_.time();
  if (begin_.has_value() && requests_ != before) last_request_ = now;
  return last_request_.has_value() && now - *last_request_ < kIdleSeconds;
}

}  // namespace persia
