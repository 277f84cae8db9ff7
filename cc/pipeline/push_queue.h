// PushQueue: sends committed gradients to the service, off the critical path.
//
// One thread sums each step's duplicates and sends one update request at a
// time, in order of commit; whatever was committed meanwhile goes into the next
// one. A failure is kept, and what is queued behind it is dropped and counted,
// until Flush reports it: nothing is lost in silence.
//
// Thread-safe. Only Flush and the destructor block.

#ifndef PERSIA_CC_PIPELINE_PUSH_QUEUE_H_
#define PERSIA_CC_PIPELINE_PUSH_QUEUE_H_

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "cc/pipeline/step_ledger.h"
#include "cc/service/embedding_service.h"

namespace persia {

class PushQueue {
 public:
  struct Counters {
    uint64_t pushed = 0;  // Requests acknowledged.
    uint64_t nonfinite = 0;
    uint64_t absent = 0;
  };

  // `service` must outlive the queue.
  PushQueue(EmbeddingService* service, const SessionOptions& options);

  // Sends what is queued, each request within its deadline, then ends. Calls
  // that still wait are completed.
  ~PushQueue();

  // Queues a step. While there is an error, drops it and counts it in the
  // error.
  void Push(TableStep step);

  // Calls `done` once at most `pending` steps of `table` are not acknowledged,
  // or with the error once there is one. At once, if that is so now; otherwise
  // on the queue's thread, which `done` must not keep.
  void WhenPendingAtMost(TableKey table, size_t pending, DoneCallback done);

  // The same once every step that is pending now, of any table, is
  // acknowledged. Later ones do not prolong the wait.
  void WhenAcknowledged(DoneCallback done);

  // Waits until every step that is pending now is acknowledged; returns, and
  // forgets, the first error.
  Status Flush();

  Status error() const;
  Counters counters() const;

 private:
  struct Waiter {
    std::function<bool()> ready;  // Requires mutex_.
    DoneCallback done;
  };

  void Work();
  Status Send(const std::vector<TableStep>& steps);
  void Acknowledge(const std::vector<TableStep>& steps, const Status& status);
  void Fail(const Status& status);
  void EndStep(TableKey table);
  Status Error() const;
  void AddWaiter(std::unique_lock<std::mutex> lock, Waiter waiter);
  std::vector<DoneCallback> TakeReady();

  EmbeddingService* const service_;
  const SessionOptions options_;
  const uint64_t client_;
  uint64_t sequence_ = 0;  // The thread's alone.

  mutable std::mutex mutex_;
  std::condition_variable work_;
  std::condition_variable ended_;
  // All below: guarded by mutex_.
  std::deque<TableStep> queued_;
  std::unordered_map<TableKey, size_t> pending_by_table_;
  // Steps are sent in order, so step n has ended once n of them have.
  uint64_t steps_begun_ = 0;
  uint64_t steps_ended_ = 0;  // Acknowledged, failed or dropped.
  std::vector<Waiter> waiters_;
  Status first_error_;
  size_t dropped_ = 0;  // Behind first_error_.
  Counters counters_;
  bool stopping_ = false;

  std::thread thread_;
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_PUSH_QUEUE_H_
