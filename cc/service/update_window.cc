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

std::vector<ClientWindow> UpdateWindow::Export() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<ClientWindow> windows;
  for (const auto& [number, client] : clients_) {
    ClientWindow& window = windows.emplace_back();
    window.client = number;
    window.highest = client.highest;
    for (uint64_t age = 0; age < kWindow && age <= client.highest; ++age) {
      const State state = client.states[(client.highest - age) % kWindow];
      if (state == State::kApplied) window.Set(age);
    }
  }
  return windows;
}

void UpdateWindow::Import(const std::vector<ClientWindow>& clients) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const ClientWindow& window : clients) {
    Client& client = clients_[window.client];
    client = Client();
    client.highest = window.highest;
    for (uint64_t age = 0; age < kWindow && age <= window.highest; ++age) {
      if (!window.Has(age)) continue;
      client.states[(window.highest - age) % kWindow] = State::kApplied;
    }
  }
}

}  // namespace persia
