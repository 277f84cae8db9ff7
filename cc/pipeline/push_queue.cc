#include "cc/pipeline/push_queue.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <utility>

#include "cc/pipeline/await.h"
#include "cc/pipeline/gradient_sum.h"

namespace persia {
namespace {

// Any number but 0, different in every process and session.
uint64_t RandomClient() {
  std::random_device random;
  const uint64_t high = random();
  return (high << 32 | random()) | 1;
}

}  // namespace

PushQueue::PushQueue(EmbeddingService* service, const SessionOptions& options)
    : service_(service),
      options_(options),
      client_(RandomClient()),
      thread_([this] { Work(); }) {}

PushQueue::~PushQueue() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  thread_.join();
}

void PushQueue::Push(TableStep step) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (!first_error_.ok()) {
    ++dropped_;
    return;
  }
  ++pending_by_table_[step.table];
  ++steps_begun_;
  queued_.push_back(std::move(step));
  work_.notify_one();
}

void PushQueue::WhenPendingAtMost(TableKey table, size_t pending,
                                  DoneCallback done) {
  AddWaiter(
      std::unique_lock<std::mutex>(mutex_),
      {[this, table, pending] { return pending_by_table_[table] <= pending; },
       std::move(done)});
}

void PushQueue::WhenAcknowledged(DoneCallback done) {
  std::unique_lock<std::mutex> lock(mutex_);
  const uint64_t last = steps_begun_;
  AddWaiter(std::move(lock),
            {[this, last] { return steps_ended_ >= last; }, std::move(done)});
}

Status PushQueue::Flush() {
  std::unique_lock<std::mutex> lock(mutex_);
  const uint64_t last = steps_begun_;
  ended_.wait(lock, [&] { return steps_ended_ >= last; });
  const Status error = Error();
  first_error_ = Status();
  dropped_ = 0;
  return error;
}

Status PushQueue::error() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return Error();
}

PushQueue::Counters PushQueue::counters() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return counters_;
}

void PushQueue::Work() {
  while (true) {
    std::vector<TableStep> steps;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      work_.wait(lock, [&] { return stopping_ || !queued_.empty(); });
      if (queued_.empty()) return;
      std::move(queued_.begin(), queued_.end(), std::back_inserter(steps));
      queued_.clear();
    }
    Acknowledge(steps, Send(steps));
  }
}

// One request for all steps. The generation is the oldest that any of its
// lookups saw, so that an update from before a restore is refused.
Status PushQueue::Send(const std::vector<TableStep>& steps) {
  std::vector<SummedGradients> sums;
  sums.reserve(steps.size());
  UpdateRequest request;
  request.client = client_;
  request.sequence = ++sequence_;
  request.generation = UINT64_MAX;
  for (const TableStep& step : steps) {
    sums.push_back(SumGradients(step));
    TableUpdate update;
    update.ids.table = step.table;
    update.ids.dim = step.dim;
    update.ids.ids = sums.back().ids;
    update.gradients = sums.back().gradients;
    update.learning_rate = step.learning_rate;
    request.tables.push_back(update);
    for (const StagedGradients& part : step.parts) {
      request.generation =
          std::min(request.generation, part.lookup->generation.load());
    }
  }
  request.deadline = DeadlineAfter(options_.timeout_seconds);
  const Status status = Await(
      [&](DoneCallback done) { service_->Update(&request, std::move(done)); });
  if (status.ok()) {
    std::lock_guard<std::mutex> lock(mutex_);
    ++counters_.pushed;
    counters_.nonfinite += request.counts.nonfinite;
    counters_.absent += request.counts.absent;
  }
  return status;
}

void PushQueue::Acknowledge(const std::vector<TableStep>& steps,
                            const Status& status) {
  std::vector<DoneCallback> ready;
  Status error;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const TableStep& step : steps) EndStep(step.table);
    if (!status.ok()) Fail(status);
    ended_.notify_all();
    ready = TakeReady();
    error = Error();
  }
  for (const DoneCallback& done : ready) done(error);
}

// Requires mutex_. There is no earlier error: nothing is queued behind one.
void PushQueue::Fail(const Status& status) {
  first_error_ = Status(
      status.code(), Concat("an update was not applied: ", status.message()));
  for (const TableStep& step : queued_) EndStep(step.table);
  dropped_ = queued_.size();
  queued_.clear();
}

// Requires mutex_.
void PushQueue::EndStep(TableKey table) {
  --pending_by_table_[table];
  ++steps_ended_;
}

// Requires mutex_.
Status PushQueue::Error() const {
  if (first_error_.ok() || dropped_ == 0) return first_error_;
  return Status(first_error_.code(),
                Concat(first_error_.message(),
                       "; updates dropped behind it: ", dropped_));
}

void PushQueue::AddWaiter(std::unique_lock<std::mutex> lock, Waiter waiter) {
  const Status error = Error();
  if (error.ok() && !waiter.ready()) {
    waiters_.push_back(std::move(waiter));
    return;
  }
  lock.unlock();
  waiter.done(error);
}

// Requires mutex_. Takes the callbacks whose time has come.
std::vector<DoneCallback> PushQueue::TakeReady() {
  std::vector<DoneCallback> ready;
  std::vector<Waiter> still_waiting;
  for (Waiter& waiter : waiters_) {
    if (!first_error_.ok() || waiter.ready()) {
      ready.push_back(std::move(waiter.done));
    } else {
      still_waiting.push_back(std::move(waiter));
    }
  }
  waiters_ = std::move(still_waiting);
  return ready;
}

}  // namespace persia
