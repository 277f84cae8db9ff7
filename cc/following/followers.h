// Followers: all programs that follow a store; see ChangesRequest.
//
// For each follower, the store records every id that changes. The number of
// followers is therefore limited, and a follower that has sent no request for a
// long time is forgotten. Thread-safe. Callers of Tell must be inside the Gate
// (cc/saving/gate.h) that protects the store's tables.

#ifndef PERSIA_CC_FOLLOWING_FOLLOWERS_H_
#define PERSIA_CC_FOLLOWING_FOLLOWERS_H_

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
#include "cc/following/follower.h"
#include "cc/service/changes_request.h"

namespace persia {

class Followers {
 public:
  static constexpr size_t kMost = 64;
  static constexpr std::chrono::minutes kMostIdle{10};

  using Now = std::function<Clock::time_point()>;

  // The tables of `subject` must outlive this object, or exist until LetGo or
  // ForgetAll releases them.
  explicit Followers(const Follower::Subject& subject, Now now = Clock::now)
      : subject_(subject), now_(std::move(now)) {}

  // Replies to `request` with the changes for the follower that the request
  // names. Returns kInvalidArgument if the request is malformed, and
  // kResourceExhausted if there are already kMost followers or there is no
  // memory. Throws std::bad_alloc; the follower's next request then starts
  // over.
  Status Tell(ChangesRequest* request);

  // Forgets followers that have sent no request for kMostIdle. Call this
  // regularly: while there are no followers, it costs only one atomic load.
  void ForgetIdle();

  // LetGo and ForgetAll may be called only while the gate is closed.
  //
  // LetGo releases a table that was dropped or cleared; the next delta of each
  // follower reports that. ForgetAll forgets all followers.
  void LetGo(TableKey table);
  void ForgetAll();

 private:
  struct Known {
    std::shared_ptr<Follower> follower;
    Clock::time_point asked_at;
  };

  Result<std::shared_ptr<Follower>> Find(uint64_t number);
  void End(uint64_t number);
  void DropIdle(Clock::time_point now);  // The caller must hold mutex_.

  const Follower::Subject subject_;
  const Now now_;
  std::atomic<Clock::time_point> next_look_{Clock::time_point::max()};
  std::mutex mutex_;
  std::unordered_map<uint64_t, Known> followers_;  // Guarded by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_FOLLOWING_FOLLOWERS_H_
