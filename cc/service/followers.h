// Followers: all followers of a store; see ChangesRequest.
//
// For each of them the store notes every id that changes, so their number is
// limited, and a follower that has not asked for long is forgotten.
// Thread-safe; callers of Tell must be inside the gate that protects the
// store's tables.

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

  // The subject's tables must outlive it, or exist until LetGo or ForgetAll.
  explicit Followers(const Follower::Subject& subject, Now now = Clock::now)
      : subject_(subject), now_(std::move(now)) {}

  // Answers `request` as its follower. kInvalidArgument if the request is
  // malformed; kResourceExhausted if there are as many followers as allowed, or
  // no memory. Throws std::bad_alloc: the follower then starts over.
  Status Tell(ChangesRequest* request);

  // Forgets followers that have not asked for kMostIdle. Call it regularly: it
  // costs one atomic load while there are no followers.
  void ForgetIdle();

  // The gate must be closed for LetGo and ForgetAll.
  //
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
  void DropIdle(Clock::time_point now);  // Requires mutex_.

  const Follower::Subject subject_;
  const Now now_;
  std::atomic<Clock::time_point> next_look_{Clock::time_point::max()};
  std::mutex mutex_;
  std::unordered_map<uint64_t, Known> followers_;  // Guarded by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_FOLLOWERS_H_
