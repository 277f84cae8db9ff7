// Column: what one client has sent to one shard, and which updates must be
// there.

#ifndef PERSIA_TESTS_FUZZ_SERVICE_STEPS_COLUMN_H_
#define PERSIA_TESTS_FUZZ_SERVICE_STEPS_COLUMN_H_

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

namespace persia {

// How often each id was updated.
using Counts = std::map<int64_t, int>;

struct SentUpdate {
  uint64_t sequence = 0;
  uint64_t generation = 0;
  std::vector<int64_t> ids;
};

inline void Count(const SentUpdate& update, Counts* counts) {
  for (const int64_t id : update.ids) ++(*counts)[id];
}

// What a save may have of a column: all of `settled`, and the first updates of
// `sent`, at least `least` of them.
struct ColumnSnapshot {
  Counts settled;
  std::vector<SentUpdate> sent;
  size_t least = 0;
};

// Thread-safe.
class Column {
 public:
  void Begin(const SentUpdate& update) {
    std::lock_guard<std::mutex> lock(mutex_);
    sent_.push_back(update);
  }

  // The outcome of the update that was begun last.
  void Acknowledge() {
    std::lock_guard<std::mutex> lock(mutex_);
    acknowledged_ = sent_.size();
  }
  void Refuse() {
    std::lock_guard<std::mutex> lock(mutex_);
    sent_.pop_back();
  }

  // The update, if there is one, that may or may not have been applied.
  std::optional<SentUpdate> Unknown() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (acknowledged_ == sent_.size()) return std::nullopt;
    return sent_.back();
  }

  ColumnSnapshot Take() {
    std::lock_guard<std::mutex> lock(mutex_);
    return {settled_, sent_, acknowledged_};
  }

  void Settle(const Counts& counts) {
    std::lock_guard<std::mutex> lock(mutex_);
    settled_ = counts;
    sent_.clear();
    acknowledged_ = 0;
  }

 private:
  std::mutex mutex_;
  // All below are guarded by mutex_.
  Counts settled_;                // Before this round.
  std::vector<SentUpdate> sent_;  // In this round.
  size_t acknowledged_ = 0;       // The number of them, from the first on.
};

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SERVICE_STEPS_COLUMN_H_
