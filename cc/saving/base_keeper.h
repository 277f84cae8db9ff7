// BaseKeeper: writes the recovery log's bases (snapshots of the rows) when they
// are due, on a thread of its own.
//
// Thread-safe. Only the destructor blocks: it cancels a base that is being
// written and joins the thread.

#ifndef PERSIA_CC_SAVING_BASE_KEEPER_H_
#define PERSIA_CC_SAVING_BASE_KEEPER_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

#include "cc/base/event_log.h"
#include "cc/base/status.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/journal/journal.h"
#include "cc/saving/frozen_store.h"
#include "cc/saving/gate.h"
#include "cc/saving/own_shard.h"
#include "cc/store/store.h"
#include "cc/writing/slot_windows.h"

namespace persia {

class BaseKeeper {
 public:
  // The objects from which a base is written. All must outlive the BaseKeeper.
  // A thread must be inside the gate whenever it uses the tables or the window,
  // or appends to the journal.
  struct Subject {
    Store* store;
    SlotWindows* window;
    Gate* gate;
    std::function<uint64_t()> requests;  // Number of requests so far.
    std::atomic<uint64_t>* generation;
    Journal* journal;
    EventLog* events;  // May be null.
    AskOwnShard own;
    // Appends to the journal what else a base lacks.
    std::function<Status(const SlotSet& unswept)> log_more;
  };

  explicit BaseKeeper(const Subject& subject);
  ~BaseKeeper();
  BaseKeeper(const BaseKeeper&) = delete;
  BaseKeeper& operator=(const BaseKeeper&) = delete;

  // Wakes the thread that writes bases, if a base is due. Call it after each
  // change that may make a base due.
  void Look() {
    if (subject_.journal->wants_base()) WakeUp();
  }

  // Like Look, but writes the base at once, even if the last attempt failed a
  // moment ago. Call it after Journal::DemandBase.
  void LookAtOnce();

  // Why the last attempt to write a base failed; OK if that attempt succeeded,
  // if there was no attempt, or if LookAtOnce was called since.
  Status failure() const;

 private:
  void WakeUp();
  void Run();
  Status Make();
  Status Freeze(FrozenStore* frozen, ShardHeader* shard, uint64_t* position);

  const Subject subject_;
  ShardProgress progress_;  // Of the base that is being written.
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  // All members below are guarded by mutex_, except thread_.
  bool due_ = false;
  bool is_hurried_ = false;  // Cuts short the pause after a failure.
  bool ending_ = false;
  Status failure_;
  std::thread thread_;
};

}  // namespace persia

#endif  // PERSIA_CC_SAVING_BASE_KEEPER_H_
