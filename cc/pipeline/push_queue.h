// PushQueue: sends committed gradients to the service, off the critical path.
//
// One thread sums the gradients of each step's duplicate ids, with the help of
// others if there are many, and sends one update request per step, in order of
// commit, without waiting for the acknowledgement of the previous request. The
// first error is stored until Flush returns it; until then, queued and new
// updates are dropped and counted, so that no update is lost silently.
//
// The queue counts the committed and the acknowledged steps of each table,
// which determine how stale a lookup is.
//
// The queue is thread-safe. Only Flush and Stop block.

#ifndef PERSIA_CC_PIPELINE_PUSH_QUEUE_H_
#define PERSIA_CC_PIPELINE_PUSH_QUEUE_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cc/pipeline/callback_threads.h"
#include "cc/pipeline/staleness_meter.h"
#include "cc/pipeline/step_ledger.h"
#include "cc/service/embedding_service.h"

namespace persia {

class PushQueue {
 public:
  // At most this many requests may be unanswered; further steps stay queued.
  static constexpr size_t kMaxInFlight = 64;

  struct Counters {
    uint64_t updates = 0;  // Requests acknowledged.
    uint64_t gradients_nonfinite = 0;
    uint64_t gradients_absent = 0;
    uint64_t updates_pending = 0;  // Steps that are unacknowledged now.
  };

  // How many steps that update a table were committed, and how many of these
  // are acknowledged.
  struct Progress {
    uint64_t committed = 0;
    uint64_t acknowledged = 0;  // Includes steps that failed.
  };

  // UpdatesAfter counts at most this many updates of a table.
  static constexpr size_t kRemembered = 1024;

  // Wraps a callback. If the wrapper is called on the thread that created it,
  // the callback runs there. Otherwise the callback runs, and is destroyed, on
  // a thread that may run callbacks.
  using Lender = std::function<DoneCallback(DoneCallback)>;

  // The staleness in `meter`, which may be null, is sent with each update.
  // `service`, `helpers` and `meter` must outlive the queue.
  PushQueue(EmbeddingService* service, double timeout_seconds, Lender lend,
            CallbackThreads* helpers, const StalenessMeter* meter = nullptr);

  ~PushQueue() { Stop(); }

  // Sends all queued steps and waits for the outcome of each request, at most
  // until the request's deadline. Push must not be called afterwards. Calling
  // Stop again has no effect.
  void Stop();

  // Queues a step, unless it is empty. While there is an error, drops the step;
  // the error reports how many were dropped. Push is noexcept: if memory for
  // the few words per step runs out, the program ends, since waiters would
  // otherwise wait forever for a step that is only partly queued.
  void Push(StepGroup group) noexcept;

  // Calls `done` when each of `tables` has at most `pending` unacknowledged
  // steps, or with the error if an update fails. If either has already
  // happened, `done` runs before this method returns. Otherwise `done` runs
  // later, on a thread that may run callbacks.
  void WhenPendingAtMost(const std::vector<TableKey>& tables, size_t pending,
                         DoneCallback done);

  // Calls `done`, in the same way as WhenPendingAtMost, when every step that is
  // pending now and updates one of `tables` is acknowledged. Later steps do not
  // prolong the wait.
  void WhenAcknowledged(const std::vector<TableKey>& tables, DoneCallback done);

  // Blocks until every step that is pending now is acknowledged. Returns and
  // clears the first error.
  Status Flush();

  Status error() const;
  Counters counters() const;

  Progress ProgressOf(TableKey table) const;

  // Returns how many committed steps of a table have a sequence above
  // `sequence`, but at most kRemembered.
  uint64_t UpdatesAfter(TableKey table, uint64_t sequence) const;

  // The client id of this queue's updates, and the newest update's sequence.
  uint64_t client() const { return client_; }
  uint64_t newest_sequence() const;

  // Whether every update up to this sequence has been acknowledged.
  bool AreAcknowledged(uint64_t up_to_sequence) const;

 private:
  struct Table {
    Progress progress;
    std::set<uint64_t> pending;   // Sequences of pending steps.
    std::deque<uint64_t> newest;  // The newest sequences, ascending.
  };

  struct Waiter {
    std::function<bool()> ready;  // Called while mutex_ is held.
    DoneCallback done;
  };
  struct Update;

  void Work();
  void Sum(Update* update) const;
  Status Prepare(Update* update);
  void Send(std::shared_ptr<Update> update);
  void End(Update* update, const Status& status);
  using Queue = std::deque<std::pair<uint64_t, StepGroup>>;

  void AddWaiter(std::unique_lock<std::mutex> lock, Waiter waiter);
  Queue Fail(const Status& status);
  void EndGroup(uint64_t sequence, const StepGroup& group);
  Status Error() const;
  std::vector<DoneCallback> TakeReady();

  EmbeddingService* const service_;
  const double timeout_seconds_;
  const Lender lend_;
  CallbackThreads* const helpers_;
  const StalenessMeter* const meter_;
  const std::string program_;
  const uint64_t client_;

  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable ended_;
  // All fields below except thread_ are guarded by mutex_.
  uint64_t newest_sequence_ = 0;  // The sequence of the last queued step.
  // Queued steps with their sequences. A step must not be destroyed while
  // mutex_ is held, because it may hold the last reference to a batch's slot.
  Queue queued_;
  size_t in_flight_ = 0;
  std::set<uint64_t> pending_;  // Sequences not yet acknowledged or failed.
  std::unordered_map<TableKey, Table> tables_;
  std::vector<Waiter> waiters_;
  Status first_error_;
  size_t dropped_ = 0;  // Updates that were lost after first_error_.
  Counters counters_;
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_PUSH_QUEUE_H_
