#include "cc/following/followers.h"

#include <algorithm>
#include <utility>

namespace persia {

Status Followers::Tell(ChangesRequest* request) {
  if (request->position.follower == 0) {
    return InvalidArgument("follower must be a random number, received 0");
  }
  if (request->max_rows == 0) {
    End(request->position.follower);
    request->begins = Begins::kNothing;
    request->complete = true;
    request->only_changes = true;
    request->held = OwnedSlots();
    request->fresh.reset();
    request->tables.clear();
    return Status();
  }
  const auto follower = Find(request->position.follower);
  if (!follower.ok()) return follower.status();
  return (*follower)->Tell(request);
}

Result<std::shared_ptr<Follower>> Followers::Find(uint64_t number) {
  const Clock::time_point now = now_();
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = followers_.find(number);
  if (found != followers_.end()) {
    found->second.asked_at = now;
    return found->second.follower;
  }
  DropIdle(now);
  if (followers_.size() == kMost) {
    return Status(
        Code::kResourceExhausted,
        Concat("this shard has reached its limit of ", kMost,
               " followers: end one (the place of a killed follower becomes "
               "free after ",
               kMostIdle.count(), " minutes), or follow a replica"));
  }
  const auto made = std::make_shared<Follower>(subject_);
  followers_[number] = {made, now};
  next_look_ = std::min<Clock::time_point>(next_look_, now + kMostIdle);
  return made;
}

void Followers::End(uint64_t number) {
  std::lock_guard<std::mutex> lock(mutex_);
  followers_.erase(number);
}

void Followers::ForgetIdle() {
  if (next_look_.load(std::memory_order_relaxed) == Clock::time_point::max()) {
    return;
  }
  const Clock::time_point now = now_();
  if (now < next_look_.load(std::memory_order_relaxed)) return;
  std::lock_guard<std::mutex> lock(mutex_);
  DropIdle(now);
}

void Followers::DropIdle(Clock::time_point now) {
  Clock::time_point next = Clock::time_point::max();
  for (auto at = followers_.begin(); at != followers_.end();) {
    const Clock::time_point end = at->second.asked_at + kMostIdle;
    if (end <= now) {
      at = followers_.erase(at);
    } else {
      next = std::min(next, end);
      ++at;
    }
  }
  next_look_ = next;
}

void Followers::LetGo(TableKey table) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [number, known] : followers_) known.follower->LetGo(table);
}

void Followers::ForgetAll() {
  std::lock_guard<std::mutex> lock(mutex_);
  followers_.clear();
  next_look_ = Clock::time_point::max();
}

}  // namespace persia
