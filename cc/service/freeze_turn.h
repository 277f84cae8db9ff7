// FreezeTurn: who may freeze a store's tables, which only one may at a time.
//
// Thread-safe.

#ifndef PERSIA_CC_SERVICE_FREEZE_TURN_H_
#define PERSIA_CC_SERVICE_FREEZE_TURN_H_

#include <condition_variable>
#include <memory>
#include <mutex>

#include "cc/checkpoint/shard_file.h"

namespace persia {

class FreezeTurn {
 public:
  // Ends the turn when it ends, on any thread.
  class Hold {
   public:
    explicit Hold(FreezeTurn* turn) : turn_(*turn) {}
    ~Hold() { turn_.End(); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    FreezeTurn& turn_;
  };

  // Waits for whoever has the turn; one that gives way is cancelled.
  std::unique_ptr<Hold> Take() {
    std::unique_lock<std::mutex> lock(mutex_);
    if (giving_way_ != nullptr) giving_way_->cancelled = true;
    ++waiting_;
    changed_.wait(lock, [&] { return !held_; });
    --waiting_;
    return Begin(nullptr);
  }

  // Waits while anybody has the turn, or waits in Take. `progress`, which must
  // live as long as the turn, is cancelled when somebody else Takes it.
  std::unique_ptr<Hold> TakeGivingWay(ShardProgress* progress) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return !held_ && waiting_ == 0; });
    return Begin(progress);
  }

 private:
  std::unique_ptr<Hold> Begin(ShardProgress* giving_way) {
    auto hold = std::make_unique<Hold>(this);
    held_ = true;
    giving_way_ = giving_way;
    return hold;
  }

  void End() {
    std::lock_guard<std::mutex> lock(mutex_);
    held_ = false;
    giving_way_ = nullptr;
    changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  // All below are guarded by mutex_.
  bool held_ = false;
  int waiting_ = 0;
  ShardProgress* giving_way_ = nullptr;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_FREEZE_TURN_H_
