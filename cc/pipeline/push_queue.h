// PushQueue: sends committed gradients to the service, off the critical path.
//
// One thread sums the gradients of each step's duplicate ids and sends one
// update request per step, in order of commit, without waiting for the
// acknowledgement of the previous one. The first error is stored until Flush
// returns it; until then, queued and new updates are dropped and counted, so
// that no update is lost silently.
//
// The queue counts the committed and the acknowledged steps of each table,
// which determine how stale a lookup is.
//
// Thread-safe. Only Flush and Stop block.

#ifndef PERSIA_CC_PIPELINE_PUSH_QUEUE_H_
#define PERSIA_CC_PIPELINE_PUSH_QUEUE_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include "cc/pipeline/step_ledger.h"
#include "cc/service/embedding_service.h"

namespace persia {

class PushQueue {
 public:
  // The most requests that may be unanswered; further steps stay queued.
  static constexpr size_t kMaxInFlight = 64;

  struct Counters {
    uint64_t pushed = 0;  // Requests acknowledged.
    uint64_t nonfinite = 0;
    uint64_t absent = 0;
    uint64_t unacknowledged = 0;  // Steps that are unacknowledged now.
  };

  // The number of steps that updated a table.
  struct Progress {
    uint64_t committed = 0;
    uint64_t acknowledged = 0;  // Includes steps that failed.
  };

  // The most updates of a table that UpdatesAfter can count.
  static constexpr size_t kRemembered = 1024;

  // Wraps a callback so that, if it is not called before the current call
  // returns, it runs and is destroyed on a thread that may run callbacks.
  using Lender = std::function<DoneCallback(DoneCallback)>;

  // `service` must outlive the queue.
  PushQueue(EmbeddingService* service, double timeout_seconds, Lender lend);

  ~PushQueue() { Stop(); }

  // Sends all queued steps and waits for their outcomes, for each request until
  // its deadline at most. Nothing may be pushed afterwards. Idempotent.
  void Stop();

  // Queues a step; ignores an empty one. While there is an error, drops the
  // step and counts it in the error. noexcept: if memory for the few words per
  // step runs out, the program ends, since waiters would wait forever for a
  // step that is only partly queued.
  void Push(StepGroup group) noexcept;

  // Calls `done` once at most `pending` steps of each of `tables` are
  // unacknowledged, or with the error once there is one. Calls it from this
  // call if that is already the case; otherwise on a lent thread.
  void WhenPendingAtMost(const std::vector<TableKey>& tables, size_t pending,
                         DoneCallback done);

  // The same, once every step that is pending now and updates one of `tables`
  // is acknowledged. Later steps do not prolong the wait.
  void WhenAcknowledged(const std::vector<TableKey>& tables, DoneCallback done);

  // Blocks until every step that is pending now is acknowledged. Returns and
  // clears the first error.
  Status Flush();

  Status error() const;
  Counters counters() const;

  Progress ProgressOf(TableKey table) const;

  // How many committed steps of a table have a sequence above this one; at most
  // kRemembered.
  uint64_t UpdatesAfter(TableKey table, uint64_t sequence) const;

  // The client id of this queue's updates, and the newest update's sequence.
  uint64_t client() const { return client_; }
  uint64_t newest_sequence() const;

  // Whether every update up to this one has been acknowledged.
  bool AreAcknowledged(uint64_t up_to_sequence) const;

 private:
  struct Table {
    Progress progress;
    std::set<uint64_t> pending;   // Sequences.
    std::deque<uint64_t> newest;  // Sequences, ascending.
  };

  struct Waiter {
    std::function<bool()> ready;  // Requires mutex_.
    DoneCallback done;
  };
  struct Update;

  void Work();
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
  const uint64_t client_;

  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable ended_;
  // All below: guarded by mutex_.
  uint64_t newest_sequence_ = 0;  // The last one that was queued.
  // Steps with their sequences. A step must not be destroyed while mutex_ is
  // held: it may hold the last reference to a batch's slot.
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
