// MoveRequest: lets a shard take slots over from another shard, and asks how
// far it is.

#ifndef PERSIA_CC_SERVICE_MOVE_REQUEST_H_
#define PERSIA_CC_SERVICE_MOVE_REQUEST_H_

#include <cstdint>
#include <string>

#include "cc/base/clock.h"
#include "cc/base/slot_set.h"
#include "cc/base/status.h"

namespace persia {

enum class MoveAction : uint32_t {
  // Begins to take the slots over, in the background. Does nothing if the shard
  // is taking these slots over already. kFailedPrecondition while it takes over
  // others.
  kStart = 1,
  kProgress = 2,
  // Stops: slots that were not handed over yet stay where they are. Does
  // nothing if the shard takes nothing over.
  kStop = 3,
};
inline constexpr MoveAction kLastMoveAction = MoveAction::kStop;

enum class MoveState : uint32_t { kIdle = 0, kRunning = 1, kEnded = 2 };
inline constexpr MoveState kLastMoveState = MoveState::kEnded;

// The progress of the move that was started last.
struct MoveProgress {
  MoveState state = MoveState::kIdle;
  Status outcome;       // Set once `state` is kEnded.
  uint64_t source = 0;  // The member that the slots come from.
  uint32_t slots = 0;   // How many slots are to be taken over,
  uint32_t moved = 0;   // and how many were.
  // How many rows and bytes of rows were received so far, repeats included.
  uint64_t rows = 0;
  uint64_t bytes = 0;
  // The longest time that requests for some slots had to wait, in microseconds.
  uint64_t most_held_us = 0;
};

struct MoveRequest {
  Deadline deadline;
  MoveAction action = MoveAction::kProgress;
  uint32_t shard = 0;  // The taker.
  // For kStart: the member that owns the slots, and where it answers.
  uint64_t source = 0;
  std::string address;
  SlotSet slots;
  // For kStart: the most bytes of rows to receive per second; 0 for no limit.
  uint64_t most_bytes_per_second = 0;

  MoveProgress progress;  // Output.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_MOVE_REQUEST_H_
