// SlotGiver: hands slots over to other shards: see hand_over_request.h.
//
// Not thread-safe: one thread at a time hands slots over. Blocks while it
// closes the gate, and until the log is durable.

#ifndef PERSIA_CC_SHARD_SLOT_GIVER_H_
#define PERSIA_CC_SHARD_SLOT_GIVER_H_

#include <atomic>
#include <cstdint>

#include "cc/base/status.h"
#include "cc/saving/gate.h"
#include "cc/service/hand_over_request.h"
#include "cc/shard/held_slots.h"
#include "cc/shard/membership.h"

namespace persia {

class SlotGiver {
 public:
  // All must outlive this object.
  struct Subject {
    ShardSlots slots;
    Membership* membership;
    HeldSlots* held;
    Gate* gate;
    const std::atomic<uint64_t>* generation;
  };

  explicit SlotGiver(const Subject& subject) : subject_(subject) {}

  // Performs a step. Must not be called inside the gate.
  Status Do(HandOverRequest* request);

 private:
  Status Hold(HandOverRequest* request);
  bool IsHandedOver(const HandOverRequest& request) const;
  Status Commit(const HandOverRequest& request);

  const Subject subject_;
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_SLOT_GIVER_H_
