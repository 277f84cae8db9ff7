#include "tests/cc/service/watched_service.h"

#include <algorithm>
#include <utility>

#include "cc/shard/local_service.h"

namespace persia {

WatchedService::WatchedService() : ForwardingService(MakeLocalService()) {}

WatchedService::~WatchedService() {
  const Status ended(Code::kCancelled, "the service ended");
  while (!held_lookups_.empty()) ReleaseLookup(ended);
  while (!held_updates_.empty()) ReleaseUpdate(ended);
}

void WatchedService::HoldLookups(bool hold) {
  std::lock_guard<std::mutex> lock(mutex_);
  hold_lookups_ = hold;
}

void WatchedService::HoldUpdates(bool hold) {
  std::lock_guard<std::mutex> lock(mutex_);
  hold_updates_ = hold;
}

void WatchedService::ReleaseLookup(const std::optional<Status>& failure) {
  Release(&held_lookups_, failure);
}

void WatchedService::ReleaseUpdate(const std::optional<Status>& failure) {
  Release(&held_updates_, failure);
}

size_t WatchedService::held_lookups() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return held_lookups_.size();
}

void WatchedService::SetGeneration(uint64_t generation) {
  std::lock_guard<std::mutex> lock(mutex_);
  generation_ = generation;
}

std::vector<WatchedLookup> WatchedService::lookups() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return lookups_;
}

size_t WatchedService::ids_looked_up() const {
  size_t count = 0;
  for (const WatchedLookup& lookup : lookups()) {
    for (const std::vector<int64_t>& ids : lookup.ids) count += ids.size();
  }
  return count;
}

std::vector<UpdateRequest> WatchedService::updates() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return updates_;
}

int WatchedService::most_nested() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return most_nested_;
}

void WatchedService::CreateTable(CreateTableRequest* request,
                                 DoneCallback done) {
  inner()->CreateTable(request, [this, request, done](const Status& status) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      request->generation = generation_.value_or(request->generation);
    }
    done(status);
  });
}

void WatchedService::Lookup(LookupRequest* request, DoneCallback done) {
  WatchedLookup seen;
  seen.read_only = request->read_only;
  seen.client = request->client;
  seen.visible_sequence = request->visible_sequence;
  seen.deadline = request->deadline;
  for (const TableLookup& table : request->tables) {
    seen.ids.emplace_back(table.ids.ids.begin(), table.ids.ids.end());
    seen.had_bags |= table.ids.combiner != Combiner::kNone;
    seen.had_shard_starts |= !table.ids.shard_starts.empty();
  }
  {
    std::lock_guard<std::mutex> lock(mutex_);
    lookups_.push_back(std::move(seen));
    most_nested_ = std::max(most_nested_, ++nested_);
  }
  inner()->Lookup(request, [this, request, done](const Status& status) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      request->generation = generation_.value_or(request->generation);
    }
    GiveOrHold(hold_lookups_, &held_lookups_,
               [done, status](const std::optional<Status>& failure) {
                 done(failure.value_or(status));
               });
  });
  std::lock_guard<std::mutex> lock(mutex_);
  --nested_;
}

void WatchedService::Update(UpdateRequest* request, DoneCallback done) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    updates_.push_back(*request);
  }
  inner()->Update(request, [this, done](const Status& status) {
    GiveOrHold(hold_updates_, &held_updates_,
               [done, status](const std::optional<Status>& failure) {
                 done(failure.value_or(status));
               });
  });
}

void WatchedService::GiveOrHold(const bool& hold, Answers* held,
                                Answer answer) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (hold) {
      held->push_back(std::move(answer));
      return;
    }
  }
  answer(std::nullopt);
}

void WatchedService::Release(Answers* held,
                             const std::optional<Status>& failure) {
  std::unique_lock<std::mutex> lock(mutex_);
  const Answer answer = std::move(held->front());
  held->pop_front();
  lock.unlock();
  answer(failure);
}

}  // namespace persia
