#include "cc/shard/acknowledgements.h"

#include <algorithm>
#include <future>
#include <utility>

namespace persia {

void Acknowledgements::Advance(uint64_t position) {
  std::multimap<uint64_t, Done> due;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    position_ = std::max(position_, position);
    const auto end = waiting_.upper_bound(position_);
    while (waiting_.begin() != end) {
      due.insert(due.end(), waiting_.extract(waiting_.begin()));
    }
  }
  for (const auto& [of, done] : due) done(Status());
}

void Acknowledgements::When(uint64_t position, Done done) {
  Status outcome;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (position > position_ && error_.ok()) {
      waiting_.emplace(position, std::move(done));
      return;
    }
    if (position > position_) outcome = error_;
  }
  done(outcome);
}

Status Acknowledgements::BlockUntil(uint64_t position) {
  std::promise<Status> outcome;
  When(position, [&](Status status) { outcome.set_value(std::move(status)); });
  return outcome.get_future().get();
}

void Acknowledgements::End(const Status& error) {
  std::multimap<uint64_t, Done> ended;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    error_ = error;
    ended.swap(waiting_);
  }
  for (const auto& [of, done] : ended) done(error);
}

uint64_t Acknowledgements::position() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return position_;
}

}  // namespace persia
