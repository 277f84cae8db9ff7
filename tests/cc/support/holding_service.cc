#include "tests/cc/support/holding_service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "cc/shard/local_service.h"
#include "tests/cc/support/call_result.h"

namespace persia {

HoldingService::HoldingService() : inner_(MakeLocalService()) {}

HoldingService::~HoldingService() { ReleaseAll(); }

void HoldingService::Hold() {
  std::lock_guard<std::mutex> lock(mutex_);
  hold_ = true;
}

void HoldingService::WaitForHeld(size_t count) {
  std::unique_lock<std::mutex> lock(mutex_);
  EXPECT_TRUE(
      changed_.wait_for(lock, kHang, [&] { return held_.size() >= count; }))
      << "only " << held_.size() << " of " << count << " calls came";
}

void HoldingService::ReleaseNewest() {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::function<void()> answer = std::move(held_.back());
  held_.pop_back();
  lock.unlock();
  answer();
}

void HoldingService::ReleaseAll() {
  std::unique_lock<std::mutex> lock(mutex_);
  hold_ = false;
  const auto held = std::exchange(held_, {});
  lock.unlock();
  for (const auto& answer : held) answer();
}

void HoldingService::FailNext(int calls, const Status& status) {
  std::lock_guard<std::mutex> lock(mutex_);
  failures_left_ = calls;
  failure_ = status;
}

int HoldingService::failures_left() {
  std::lock_guard<std::mutex> lock(mutex_);
  return failures_left_;
}

void HoldingService::SetGeneration(uint64_t generation) {
  std::lock_guard<std::mutex> lock(mutex_);
  generation_ = generation;
}

size_t HoldingService::most_held() {
  std::lock_guard<std::mutex> lock(mutex_);
  return most_held_;
}

void HoldingService::GiveOrHold(std::function<void()> answer) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (hold_) {
      held_.push_back(std::move(answer));
      most_held_ = std::max(most_held_, held_.size());
      changed_.notify_all();
      return;
    }
  }
  answer();
}

void HoldingService::OtherCall(const AnyRequest& request, DoneCallback done) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    if (failures_left_ > 0) {
      --failures_left_;
      const Status failure = failure_;
      lock.unlock();
      return done(failure);
    }
  }
  inner_->Call(
      request, [this, request, done = std::move(done)](const Status& status) {
        if (auto* const* lookup = std::get_if<LookupRequest*>(&request)) {
          std::lock_guard<std::mutex> lock(mutex_);
          (*lookup)->generation = generation_.value_or((*lookup)->generation);
        }
        GiveOrHold([done, status] { done(status); });
      });
}

}  // namespace persia
