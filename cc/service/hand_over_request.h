// HandOverRequest: how a shard, the taker, takes slots over from their owner.
//
// The taker follows the owner's changes of the slots, with whole rows: see
// ChangesRequest. Once it has almost all rows, it takes the slots over, some at
// a time:
//
//   kAsk      The owner tells of its topology and generation.
//   kHold     The owner lets requests for these slots wait, and tells which
//             updates it has applied to them.
//             Then the taker receives the last changes, and makes all that it
//             needs durable.
//   kCommit   The owner records durably that the slots are the taker's, and
//             never serves them again.
//   kRelease  The taker knows that it owns the slots: the requests that wait
//             are answered, and sent to it.
//
// The owner alone decides who owns the slots. If kCommit does not arrive in
// time, the owner goes on serving them, and kCommit fails: the taker holds them
// again. If the reply to kCommit is lost, the taker sends it again.

#ifndef PERSIA_CC_SERVICE_HAND_OVER_REQUEST_H_
#define PERSIA_CC_SERVICE_HAND_OVER_REQUEST_H_

#include <cstdint>
#include <vector>

#include "cc/base/client_window.h"
#include "cc/base/clock.h"
#include "cc/base/slot_set.h"

namespace persia {

enum class HandOverStep : uint32_t {
  kAsk = 0,
  kHold = 1,
  kCommit = 2,
  kRelease = 3,  // Ends the hold, before kCommit too. No error if it has ended.
  // The taker needs no more slots for now: the owner removes the rows of those
  // that it has given away. It does so some time later without this step, too.
  kEnd = 4,
};
inline constexpr HandOverStep kLastHandOverStep = HandOverStep::kEnd;

// The updates that were applied to some slots.
struct SlotsApplied {
  SlotSet slots;
  std::vector<ClientWindow> clients;
};

struct HandOverRequest {
  static constexpr uint32_t kMostHoldMs = 10'000;
  static constexpr uint64_t kMostReplyBytes = uint64_t{64} << 20;

  Deadline deadline;
  HandOverStep step = HandOverStep::kHold;
  uint64_t taker = 0;    // The member that takes the slots over.
  SlotSet slots;         // For kHold and kCommit.
  uint32_t hold_ms = 0;  // For kHold: for how long, at most.
  uint64_t hold = 0;     // Output of kHold, and input of the other steps.
  // Output of all steps, and input of kCommit, which fails if a restore has
  // changed it since kHold: the generation of the owner's tables.
  uint64_t generation = 0;
  std::vector<SlotsApplied> applied;  // Output of kHold.
  std::vector<uint8_t> topology;      // Output: the owner's, encoded.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_HAND_OVER_REQUEST_H_
