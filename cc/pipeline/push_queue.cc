#include "cc/pipeline/push_queue.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <random>
#include <utility>

#include "cc/base/catch_bad_alloc.h"
#include "cc/pipeline/gradient_sum.h"
#include "cc/pipeline/parallel_for.h"

namespace persia {
namespace {

// So many gradients that their sums take much longer than the start of a
// thread.
constexpr size_t kManyFloats = size_t{128} << 10;

// Draws a random client id, which differs in every process and session and is
// never 0.
uint64_t RandomClient() {
  std::random_device random;
  const uint64_t high = random();
  return (high << 32 | random()) | 1;
}

// Returns the name of this program for operators: "host:pid".
std::string ThisProgram() {
  char host[128] = "";
  if (gethostname(host, sizeof(host) - 1) != 0) host[0] = '\0';
  return Concat(host, ":", getpid());
}

}  // namespace

// An update request and the memory that the request refers to.
struct PushQueue::Update {
  StepGroup group;
  std::vector<SummedGradients> sums;
  UpdateRequest request;
};

PushQueue::PushQueue(EmbeddingService* service, double timeout_seconds,
                     Lender lend, CallbackThreads* helpers,
                     const StalenessMeter* meter)
    : service_(service),
      timeout_seconds_(timeout_seconds),
      lend_(std::move(lend)),
      helpers_(helpers),
      meter_(meter),
      program_(ThisProgram()),
      client_(RandomClient()),
      thread_([this] { Work(); }) {}

void PushQueue::Stop() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  if (thread_.joinable()) thread_.join();
  std::unique_lock<std::mutex> lock(mutex_);
  ended_.wait(lock, [&] { return in_flight_ == 0; });
}

void PushQueue::Push(StepGroup group) noexcept {
  if (group.empty()) return;
  std::lock_guard<std::mutex> lock(mutex_);
  if (!first_error_.ok()) {
    dropped_ += group.size();
    return;
  }
  pending_.insert(++newest_sequence_);
  for (const TableStep& step : group) {
    Table& table = tables_[step.table];
    ++table.progress.committed;
    table.pending.insert(newest_sequence_);
    table.newest.push_back(newest_sequence_);
    if (table.newest.size() > kRemembered) table.newest.pop_front();
    for (const StagedGradients& part : step.parts) {
      if (part.plan->slot != nullptr) part.plan->slot->MarkPushed();
    }
  }
  queued_.emplace_back(newest_sequence_, std::move(group));
  work_.notify_one();
}

void PushQueue::WhenPendingAtMost(const std::vector<TableKey>& tables,
                                  size_t pending, DoneCallback done) {
  AddWaiter(std::unique_lock<std::mutex>(mutex_),
            {[this, tables, pending] {
               return std::all_of(
                   tables.begin(), tables.end(), [&](TableKey table) {
                     return tables_[table].pending.size() <= pending;
                   });
             },
             std::move(done)});
}

void PushQueue::WhenAcknowledged(const std::vector<TableKey>& tables,
                                 DoneCallback done) {
  std::unique_lock<std::mutex> lock(mutex_);
  const uint64_t last = newest_sequence_;
  AddWaiter(std::move(lock),
            {[this, tables, last] {
               return std::all_of(
                   tables.begin(), tables.end(), [&](TableKey table) {
                     const std::set<uint64_t>& pending = tables_[table].pending;
                     return pending.empty() || *pending.begin() > last;
                   });
             },
             std::move(done)});
}

void PushQueue::AddWaiter(std::unique_lock<std::mutex> lock, Waiter waiter) {
  const Status error = Error();
  if (error.ok() && !waiter.ready()) {
    waiter.done = lend_(std::move(waiter.done));
    waiters_.push_back(std::move(waiter));
    return;
  }
  lock.unlock();
  waiter.done(error);
}

Status PushQueue::Flush() {
  std::unique_lock<std::mutex> lock(mutex_);
  const uint64_t last = newest_sequence_;
  ended_.wait(lock,
              [&] { return pending_.empty() || *pending_.begin() > last; });
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
  Counters counters = counters_;
  counters.updates_pending = pending_.size();
  return counters;
}

PushQueue::Progress PushQueue::ProgressOf(TableKey table) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = tables_.find(table);
  return found == tables_.end() ? Progress() : found->second.progress;
}

uint64_t PushQueue::UpdatesAfter(TableKey table, uint64_t sequence) const {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = tables_.find(table);
  if (found == tables_.end()) return 0;
  const std::deque<uint64_t>& newest = found->second.newest;
  return newest.end() -
         std::upper_bound(newest.begin(), newest.end(), sequence);
}

bool PushQueue::AreAcknowledged(uint64_t up_to_sequence) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return pending_.empty() || *pending_.begin() > up_to_sequence;
}

uint64_t PushQueue::newest_sequence() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return newest_sequence_;
}

void PushQueue::Work() {
  while (true) {
    std::pair<uint64_t, StepGroup> next;
    {
      std::unique_lock<std::mutex> lock(mutex_);
      work_.wait(lock, [&] {
        if (queued_.empty()) return stopping_;
        return in_flight_ < kMaxInFlight;
      });
      if (queued_.empty()) return;
      next = std::move(queued_.front());
      queued_.pop_front();
      ++in_flight_;
    }
    auto update = std::make_shared<Update>();
    update->request.sequence = next.first;
    update->group = std::move(next.second);
    const Status prepared =
        CatchBadAlloc([&] { return Prepare(update.get()); });
    if (prepared.ok()) {
      Send(std::move(update));
    } else {
      End(update.get(), prepared);
    }
  }
}

// Sums the gradients of each table.
void PushQueue::Sum(Update* update) const {
  const StepGroup& group = update->group;
  update->sums.resize(group.size());
  const auto sum = [&](size_t t) { update->sums[t] = SumGradients(group[t]); };
  size_t floats = 0;
  for (const TableStep& step : group) {
    for (const StagedGradients& part : step.parts) {
      floats += part.plan->vectors() * step.dim;
    }
  }
  ParallelFor(floats >= kManyFloats ? helpers_ : nullptr, group.size(), sum);
}

// Fills the update's request. Its generation is the lowest generation of the
// step's lookups, so that shards refuse the update if a restore came after any
// of these lookups.
Status PushQueue::Prepare(Update* update) {
  Sum(update);
  UpdateRequest& request = update->request;
  request.client = client_;
  request.trainer.program = program_;
  if (meter_ != nullptr) {
    request.trainer.staleness = static_cast<uint32_t>(meter_->last());
  }
  request.generation = UINT64_MAX;
  for (size_t t = 0; t < update->group.size(); ++t) {
    const TableStep& step = update->group[t];
    TableUpdate table;
    table.ids = update->sums[t].ids;
    table.gradients = update->sums[t].gradients;
    table.learning_rate = step.learning_rate;
    table.step = step.step;
    request.tables.push_back(table);
    for (const StagedGradients& part : step.parts) {
      request.generation =
          std::min(request.generation, part.plan->generation.load());
    }
  }
  return Status();
}

void PushQueue::Send(std::shared_ptr<Update> update) {
  UpdateRequest* const request = &update->request;
  request->deadline = DeadlineAfter(timeout_seconds_);
  service_->Update(
      request, lend_([this, update = std::move(update)](const Status& status) {
        End(update.get(), status);
      }));
}

void PushQueue::End(Update* update, const Status& status) {
  std::vector<DoneCallback> ready;
  Queue dropped;  // Destroyed while the lock is not held.
  Status error;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (status.ok()) {
      ++counters_.updates;
      counters_.gradients_nonfinite += update->request.counts.nonfinite;
      counters_.gradients_absent += update->request.counts.absent;
    } else {
      dropped = Fail(status);
    }
    EndGroup(update->request.sequence, update->group);
    ready = TakeReady();
    error = Error();
    ended_.notify_all();
  }
  for (const DoneCallback& done : ready) done(error);
  // in_flight_ is decremented last: once it is 0, Stop may return, and then the
  // threads that run callbacks may end.
  std::lock_guard<std::mutex> lock(mutex_);
  --in_flight_;
  work_.notify_one();
  ended_.notify_all();
}

// Records the error, and ends the queued steps, which will not be sent. Returns
// these steps. Requires that mutex_ is held.
PushQueue::Queue PushQueue::Fail(const Status& status) {
  if (first_error_.ok()) {
    first_error_ = Status(
        status.code(), Concat("an update was not applied: ", status.message()));
  } else {
    ++dropped_;
  }
  for (const auto& [sequence, group] : queued_) {
    EndGroup(sequence, group);
    dropped_ += group.size();
  }
  return std::exchange(queued_, {});
}

// Counts the steps of a group as acknowledged. Requires that mutex_ is held.
void PushQueue::EndGroup(uint64_t sequence, const StepGroup& group) {
  pending_.erase(sequence);
  for (const TableStep& step : group) {
    Table& table = tables_[step.table];
    ++table.progress.acknowledged;
    table.pending.erase(sequence);
  }
}

// Returns the first error, with the number of updates dropped after it, or ok.
// Requires that mutex_ is held.
Status PushQueue::Error() const {
  if (first_error_.ok() || dropped_ == 0) return first_error_;
  return Status(
      first_error_.code(),
      Concat(first_error_.message(), "; updates dropped after it: ", dropped_));
}

// Removes and returns the callbacks that are ready to run. Requires that mutex_
// is held.
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
