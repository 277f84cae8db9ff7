// BaseKeeper: makes a journal's bases when they are due, on a thread of its
// own.
//
// Thread-safe. Only the destructor waits; it ends a base that is being written.

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
  // What a base is of. All must outlive it; whoever uses the tables or the
  // window is inside the gate, and appends to the journal there.
  struct Subject {
    Store* store;
    UpdateWindow* window;
    Gate* gate;
    std::function<uint64_t()> requests;  // How many there were.
    std::atomic<uint64_t>* generation;
    Journal* journal;
    EventLog* events;  // Or null.
  };

  explicit BaseKeeper(const Subject& subject);
  ~BaseKeeper();
  BaseKeeper(const BaseKeeper&) = delete;
  BaseKeeper& operator=(const BaseKeeper&) = delete;

  // To be called after what may make a base due.
  void Look() {
    if (subject_.journal->wants_base()) WakeUp();
  }

  // The same after what demands one: it is tried at once, although the last one
  // may have failed a moment ago.
  void LookAtOnce();

  // Why the last base was not written; OK if it was, or is the first, or was
  // demanded since.
  Status failure() const;

 private:
  void WakeUp();
  void Run();
  Status Make();
  Status Freeze(FrozenStore* frozen, uint64_t* position);

  const Subject subject_;
  ShardProgress progress_;  // Of the base that is being made.
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  // All below are guarded by mutex_, but the thread.
  bool due_ = false;
  bool is_hurried_ = false;  // A pause after a failure ends.
  bool ending_ = false;
  Status failure_;
  std::thread thread_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_BASE_KEEPER_H_
