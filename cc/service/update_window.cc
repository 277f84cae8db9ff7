#include "cc/service/update_window.h"

#include <algorithm>

namespace persia {

UpdateWindow::Verdict UpdateWindow::Begin(uint64_t client, uint64_t sequence) {
  std::lock_guard<std::mutex> lock(mutex_);
  Client& known = clients_[client];
  if (sequence > known.highest) {
    // The window moves up: slots that it reuses forget their old number.
    const uint64_t steps = std::min(sequence - known.highest, kWindow);
    for (uint64_t i = 0; i < steps; ++i) {
      known.states[(sequence - i) % kWindow] = State::kUnseen;
    }
    known.highest = sequence;
  } else if (known.highest - sequence >= kWindow) {
    return Verdict::kTooOld;
  }
  State& state = known.states[sequence % kWindow];
  if (state == State::kApplied) return Verdict::kApplied;
  if (state == State::kInProgress) return Verdict::kInProgress;
  state = State::kInProgress;
  return Verdict::kApply;
}

void UpdateWindow::Finish(uint64_t client, uint64_t sequence, bool applied) {
  std::lock_guard<std::mutex> lock(mutex_);
  Client& known = clients_[client];
  // The window may have moved past it: the slot belongs to another number.
  if (known.highest - sequence >= kWindow) return;
  known.states[sequence % kWindow] = applied ? State::kApplied : State::kUnseen;
}

}  // namespace persia
