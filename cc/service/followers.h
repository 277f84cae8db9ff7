// Followers: those who follow a store, as ChangesRequest says.
//
// Each costs the store a note of every id that changes, so there may be a few,
// and one that does not ask for long is forgotten. Thread-safe; whoever tells
// is inside the gate that keeps the store's tables.

#ifndef PERSIA_CC_SERVICE_FOLLOWERS_H_
#define PERSIA_CC_SERVICE_FOLLOWERS_H_

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "cc/base/clock.h"
#include "cc/base/status.h"
#include "cc/service/changes_request.h"
#include "cc/service/follower.h"

namespace persia {

class Followers {
 public:
  static constexpr size_t kMost = 64;
  static constexpr std::chrono::minutes kMostIdle{10};

  using Now = std::function<Clock::time_point()>;

  // Of tables that outlive it, or are there until LetGo or ForgetAll.
  explicit Followers(const Follower::Subject& subject, Now now = Clock::now)
      : subject_(subject), now_(std::move(now)) {}

  // kInvalidArgument for a request that is none; kResourceExhausted if there
  // are as many followers as may be, or there is no memory. Throws
  // std::bad_alloc: the follower then begins anew.
  Status Tell(ChangesRequest* request);

  // Forgets those who did not ask for kMostIdle. To be called now and then:
  // costs nothing while there is nothing to look at.
  void ForgetIdle();

  // Nobody may be inside the gate for these.
  // A table was dropped or cleared: each follower is told so.
  void LetGo(TableKey table);
  void ForgetAll();

 private:
  struct Known {
    std::shared_ptr<Follower> follower;
    Clock::time_point asked_at;
  };

  Result<std::shared_ptr<Follower>> Find(uint64_t number);
  void End(uint64_t number);
  void DropIdle(Clock::time_point now);  // Expects the lock.

  const Follower::Subject subject_;
  const Now now_;
  std::atomic<Clock::time_point> next_look_{Clock::time_point::max()};
  std::mutex mutex_;
  std::unordered_map<uint64_t, Known> followers_;  // Guarded by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_FOLLOWERS_H_
