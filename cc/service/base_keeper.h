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
#include "cc/service/freeze_turn.h"
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
    FreezeTurn* turn;
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

 private:
  void WakeUp();
  void Run();
  Status Make();
  Status Freeze(FrozenStore* frozen, uint64_t* position);

  const Subject subject_;
  ShardProgress progress_;  // Of the base that is being made.
  std::mutex mutex_;
  std::condition_variable wake_;
  bool due_ = false;  // Guarded by mutex_, as is the next.
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_BASE_KEEPER_H_
