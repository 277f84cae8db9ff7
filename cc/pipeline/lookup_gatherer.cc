#include "cc/pipeline/lookup_gatherer.h"

#include <utility>

namespace persia {

LookupGatherer::LookupGatherer(bool read_only, double linger_seconds, Send send)
    : read_only_(read_only),
      linger_seconds_(linger_seconds),
      send_(std::move(send)),
      thread_([this] { Work(); }) {}

void LookupGatherer::Stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void LookupGatherer::Add(std::shared_ptr<Lookup> lookup) {
  std::shared_ptr<FusedLookup> complete;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (group_ == nullptr) {
      RelearnIfTooSmall();
      group_ = std::make_shared<FusedLookup>(read_only_);
      first_ = lookup->plan()->layer;
      wake_.notify_all();
    }
    send_at_ = DeadlineAfter(linger_seconds_);
    group_->Add(lookup);
    if (linger_seconds_ == 0 || group_->size() == sizes_[first_]) {
      last_first_ = first_;
      last_lookup_ = std::move(lookup);
      complete = Take();
    }
  }
  if (complete != nullptr) send_(std::move(complete));
}

void LookupGatherer::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return stopping_ || group_ != nullptr; });
    if (group_ == nullptr) return;
    // Every lookup that joins the group postpones send_at_.
    const bool is_due = stopping_ || Clock::now() >= send_at_;
    if (!is_due) {
      wake_.wait_until(lock, Deadline(send_at_));
      continue;
    }
    sizes_[first_] = group_->size();
    auto group = Take();
    lock.unlock();
    send_(std::move(group));
    lock.lock();
  }
}

// Removes and returns the current group. Requires that mutex_ is held.
std::shared_ptr<FusedLookup> LookupGatherer::Take() {
  return std::exchange(group_, nullptr);
}

// Called when a lookup begins a new group. If the rows of the previous group's
// last lookup have not been copied yet, both groups belong to one step. So the
// previous group was sent too early, and the size of such groups must be
// learned again. Requires that mutex_ is held.
void LookupGatherer::RelearnIfTooSmall() {
  const auto last = std::exchange(last_lookup_, {}).lock();
  if (last != nullptr && !last->copied()) sizes_[last_first_] = kUnknown;
}

}  // namespace persia
