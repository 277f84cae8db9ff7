// HeldSlots: slots of which requests wait, while another shard takes them over.
//
// Thread-safe. Only End and the destructor block.

#ifndef PERSIA_CC_SHARD_HELD_SLOTS_H_
#define PERSIA_CC_SHARD_HELD_SLOTS_H_

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "cc/base/clock.h"
#include "cc/base/slot_set.h"
#include "cc/base/status.h"

namespace persia {

class HeldSlots {
 public:
  HeldSlots() = default;
  ~HeldSlots() { End(); }
  HeldSlots(const HeldSlots&) = delete;
  HeldSlots& operator=(const HeldSlots&) = delete;

  // Whether requests for some slots wait. Costs an atomic load.
  bool any() const { return any_.load(std::memory_order_acquire); }

  // If `touches` some held slots, keeps `resume`, which is called once these
  // are no longer held, and returns true. Callers must be inside the gate.
  using Touches = std::function<bool(const SlotSet& held)>;
  bool Park(const Touches& touches, std::function<void()> resume);

  // Lets requests for these slots wait, until Release or for `most_seconds`.
  // Must run while the gate is closed. Returns the number of the hold;
  // kFailedPrecondition if some of the slots are held already, or after End.
  Result<uint64_t> Hold(const SlotSet& slots, double most_seconds);

  // Keeps a hold of these slots until Release. Returns false if there is no
  // such hold any more.
  bool Keep(uint64_t hold, const SlotSet& slots);

  // Ends a hold in `most_seconds`, unless Release ends it before.
  void EndWithin(uint64_t hold, double most_seconds);

  // Ends a hold, and lets its requests go on, on this thread. Does nothing if
  // it has ended. Must not be called inside the gate.
  void Release(uint64_t hold);

  // Ends all holds, and lets their requests go on, on this thread. No slots are
  // held from then on.
  void End();

 private:
  using Resumes = std::vector<std::function<void()>>;

  struct Held {
    uint64_t number;
    SlotSet slots;
    Clock::time_point until;
    Resumes parked;
  };

  void Watch();
  Resumes EndOne(std::vector<Held>::iterator hold);

  std::atomic<bool> any_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  // All below are guarded by mutex_.
  std::vector<Held> holds_;
  uint64_t last_number_ = 0;
  bool ending_ = false;
  std::thread watcher_;  // Ends holds in time. Started by the first hold.
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_HELD_SLOTS_H_
