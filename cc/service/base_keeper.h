// BaseKeeper: writes the recovery log's bases when they are due, on a thread of
// its own.
//
// Thread-safe. Only the destructor blocks; it cancels a base that is being
// written.

#ifndef PERSIA_CC_SERVICE_BASE_KEEPER_H_
#define PERSIA_CC_SERVICE_BASE_KEEPER_H_

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
#include "cc/service/frozen_store.h"
#include "cc/service/gate.h"
#include "cc/service/update_window.h"
#include "cc/store/store.h"

namespace persia {

class BaseKeeper {
 public:
  // What a base is made from. All must outlive it. Every thread that uses the
  // tables or the window does so inside the gate, and appends to the journal
  // there.
  struct Subject {
    Store* store;
    UpdateWindow* window;
    Gate* gate;
    std::function<uint64_t()> requests;  // Number of requests so far.
    std::atomic<uint64_t>* generation;
    Journal* journal;
    EventLog* events;  // Or null.
  };

  explicit BaseKeeper(const Subject& subject);
  ~BaseKeeper();
  BaseKeeper(const BaseKeeper&) = delete;
  BaseKeeper& operator=(const BaseKeeper&) = delete;

  // Call it after anything that may make a base due.
  void Look() {
    if (subject_.journal->wants_base()) WakeUp();
  }

  // The same, after Journal::DemandBase: writes the base at once, even if the
  // last attempt failed a moment ago.
  void LookAtOnce();

  // Why the last attempt to write a base failed; OK if it succeeded, if there
  // was none, or if LookAtOnce was called since.
  Status failure() const;

 private:
  void WakeUp();
  void Run();
  Status Make();
  Status Freeze(FrozenStore* frozen, uint64_t* position);

  const Subject subject_;
  ShardProgress progress_;  // Of the base that is being written.
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  // All below are guarded by mutex_, except the thread.
  bool due_ = false;
  bool is_hurried_ = false;  // Cuts short the pause after a failure.
  bool ending_ = false;
  Status failure_;
  std::thread thread_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_BASE_KEEPER_H_
