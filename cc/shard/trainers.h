// Trainers: the programs that train on a shard, as operators see them.
//
// Thread-safe; never blocks beyond a short lock.

#ifndef PERSIA_CC_SHARD_TRAINERS_H_
#define PERSIA_CC_SHARD_TRAINERS_H_

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cc/base/clock.h"
#include "cc/service/embedding_service.h"

namespace persia {

class Trainers {
 public:
  // Beyond this number, the program that has been idle longest is forgotten.
  static constexpr size_t kMost = 1024;

  // Call it for each update, repeated ones included.
  void OnUpdate(const TrainerState& state) {
    if (state.program.empty()) return;
    std::lock_guard<std::mutex> lock(mutex_);
    if (trainers_.size() >= kMost && trainers_.count(state.program) == 0) {
      ForgetOldest();
    }
    Trainer& trainer = trainers_[state.program];
    trainer.seen = Clock::now();
    ++trainer.stats.updates;
    trainer.stats.staleness = state.staleness;
    trainer.stats.staleness_max =
        std::max<uint64_t>(trainer.stats.staleness_max, state.staleness);
  }

  // All programs, sorted by name.
  std::vector<TrainerStats> Stats() const {
    const Clock::time_point now = Clock::now();
    std::vector<TrainerStats> all;
    std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [program, trainer] : trainers_) {
      TrainerStats& stats = all.emplace_back(trainer.stats);
      stats.program = program;
      stats.idle_millis = static_cast<uint64_t>(
          std::chrono::duration_cast<std::chrono::milliseconds>(now -
                                                                trainer.seen)
              .count());
    }
    return all;
  }

 private:
  struct Trainer {
    TrainerStats stats;
    Clock::time_point seen;
  };

  // The caller must hold mutex_.
  void ForgetOldest() {
    trainers_.erase(std::min_element(trainers_.begin(), trainers_.end(),
                                     [](const auto& a, const auto& b) {
                                       return a.second.seen < b.second.seen;
                                     }));
  }

  mutable std::mutex mutex_;
  std::map<std::string, Trainer> trainers_;  // By program; guarded by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_TRAINERS_H_
