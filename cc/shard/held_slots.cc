#include "cc/shard/held_slots.h"

#include <algorithm>
#include <utility>

namespace persia {

void HeldSlots::End() {
  Resumes parked;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    ending_ = true;
    changed_.notify_all();
    while (!holds_.empty()) {
      for (auto& resume : EndOne(holds_.begin())) {
        parked.push_back(std::move(resume));
      }
    }
  }
  if (watcher_.joinable()) watcher_.join();
  for (const auto& resume : parked) resume();
}

bool HeldSlots::Park(const Touches& touches, std::function<void()> resume) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Held& held : holds_) {
    if (!touches(held.slots)) continue;
    held.parked.push_back(std::move(resume));
    return true;
  }
  return false;
}

Result<uint64_t> HeldSlots::Hold(const SlotSet& slots, double most_seconds) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (ending_) return Status(Code::kFailedPrecondition, "the shard ends");
  for (const Held& held : holds_) {
    if ((held.slots & slots).none()) continue;
    return Status(Code::kFailedPrecondition,
                  "another shard takes some of these slots over already");
  }
  if (!watcher_.joinable()) watcher_ = std::thread([this] { Watch(); });
  holds_.push_back({++last_number_, slots, DeadlineAfter(most_seconds), {}});
  any_.store(true, std::memory_order_release);
  changed_.notify_all();
  return last_number_;
}

bool HeldSlots::Keep(uint64_t hold, const SlotSet& slots) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Held& held : holds_) {
    if (held.number != hold || held.slots != slots) continue;
    held.until = Clock::time_point::max();
    return true;
  }
  return false;
}

void HeldSlots::EndWithin(uint64_t hold, double most_seconds) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (Held& held : holds_) {
    if (held.number == hold) held.until = DeadlineAfter(most_seconds);
  }
  changed_.notify_all();
}

void HeldSlots::Release(uint64_t hold) {
  Resumes parked;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto found =
        std::find_if(holds_.begin(), holds_.end(),
                     [&](const Held& each) { return each.number == hold; });
    if (found == holds_.end()) return;
    parked = EndOne(found);
  }
  for (const auto& resume : parked) resume();
}

HeldSlots::Resumes HeldSlots::EndOne(std::vector<Held>::iterator hold) {
  Resumes parked = std::move(hold->parked);
  holds_.erase(hold);
  any_.store(!holds_.empty(), std::memory_order_release);
  return parked;
}

void HeldSlots::Watch() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (!ending_) {
    const auto first = std::min_element(
        holds_.begin(), holds_.end(),
        [](const Held& a, const Held& b) { return a.until < b.until; });
    if (first == holds_.end() || first->until == Clock::time_point::max()) {
      changed_.wait(lock);
      continue;
    }
    if (Clock::now() < first->until) {
      changed_.wait_until(lock, first->until);
      continue;
    }
    const Resumes parked = EndOne(first);
    lock.unlock();
    for (const auto& resume : parked) resume();
    lock.lock();
  }
}

}  // namespace persia
