// PushQueue: sends committed gradients to the service, off the critical path.
//
// One thread sums each step's duplicates and sends one update request a step,
// in order of commit, without waiting for the acknowledgement of the one
// before. A failure is kept, and what is queued behind it is dropped and
// counted, until Flush reports it: nothing is lost in silence.
//
// It knows, for each table, how many steps were committed and how many of them
// are acknowledged: how stale a lookup is follows from that.
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
  // Requests on their way; the next waits in the queue.
  static constexpr size_t kMaxInFlight = 64;

  struct Counters {
    uint64_t pushed = 0;  // Requests acknowledged.
    uint64_t nonfinite = 0;
    uint64_t absent = 0;
    uint64_t unacknowledged = 0;  // Steps, now.
  };

  // Steps that updated a table.
  struct Progress {
    uint64_t committed = 0;
    uint64_t acknowledged = 0;  // Or failed.
  };

  // Newer updates of a table that UpdatesAfter can count.
  static constexpr size_t kRemembered = 1024;

  // Hands an outcome to a thread that may run callbacks and end what they hold.
  using Lender = std::function<DoneCallback(DoneCallback)>;

  // `service` must outlive the queue.
  PushQueue(EmbeddingService* service, double timeout_seconds, Lender lend);

  ~PushQueue() { Stop(); }

  // Sends what is queued and waits for its outcome, each request within its
  // deadline. Nothing may be pushed after. Idempotent.
  void Stop();

  // Queues a step; an empty one is none. While there is an error, drops it and
  // counts it in the error. Without memory for its few words it ends the
  // program: a step that is half queued would be waited for.
  void Push(StepGroup group) noexcept;

  // Calls `done` once at most `pending` steps of each of `tables` are not
  // acknowledged, or with the error once there is one. At once, if that is so
  // now; otherwise on a lent thread.
  void WhenPendingAtMost(const std::vector<TableKey>& tables, size_t pending,
                         DoneCallback done);

  // The same once every step that is pending now and updates one of `tables` is
  // acknowledged. Later ones do not prolong the wait.
  void WhenAcknowledged(const std::vector<TableKey>& tables, DoneCallback done);

  // Waits until every step that is pending now is acknowledged; returns, and
  // forgets, the first error.
  Status Flush();

  Status error() const;
  Counters counters() const;

  Progress ProgressOf(TableKey table) const;

  // How many committed steps of a table have a sequence above this one.
  uint64_t UpdatesAfter(TableKey table, uint64_t sequence) const;

  // By which the service knows this queue's updates, and the newest of them.
  uint64_t client() const { return client_; }
  uint64_t newest_sequence() const;

  // Whether every update up to this one has been acknowledged.
  bool AreAcknowledged(uint64_t up_to_sequence) const;

 private:
  struct Table {
    Progress progress;
    std::set<uint64_t> pending;   // Sequences.
    std::deque<uint64_t> newest;  // Sequences, rising.
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
  uint64_t newest_sequence_ = 0;  // Of those that were queued.
  // With its sequence. What a group holds must not end while mutex_ is held: it
  // may be the last to hold a batch's slot.
  Queue queued_;
  size_t in_flight_ = 0;
  std::set<uint64_t> pending_;  // Sequences that have not ended.
  std::unordered_map<TableKey, Table> tables_;
  std::vector<Waiter> waiters_;
  Status first_error_;
  size_t dropped_ = 0;  // Behind first_error_.
  Counters counters_;
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_PUSH_QUEUE_H_
