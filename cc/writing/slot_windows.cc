#include "cc/writing/slot_windows.h"

#include <algorithm>
#include <utility>

namespace persia {
namespace {

using Verdict = UpdateWindow::Verdict;

// How often windows are compared.
constexpr std::chrono::minutes kBetweenJoins{1};

bool ByClient(const ClientWindow& a, const ClientWindow& b) {
  return a.client < b.client;
}

std::vector<ClientWindow> Sorted(std::vector<ClientWindow> windows) {
  std::sort(windows.begin(), windows.end(), ByClient);
  return windows;
}

}  // namespace

SlotWindows::Begun SlotWindows::Begin(uint64_t client, uint64_t sequence) {
  Begun begun;
  begun.verdict = own_.Begin(client, sequence);
  if (begun.verdict == Verdict::kApply) begun.windows.push_back(&own_);
  if (taken_.empty()) return begun;
  SlotSet applied;
  const bool is_new_to_own = begun.verdict == Verdict::kApply;
  bool is_new = is_new_to_own;
  if (!is_new && begun.verdict != Verdict::kApplied) return begun;
  SlotSet taken;
  for (const Taken& each : taken_) {
    const Verdict verdict = each.window->Begin(client, sequence);
    taken |= each.slots;
    if (verdict == Verdict::kApply) {
      begun.windows.push_back(each.window.get());
      is_new = true;
    } else if (verdict == Verdict::kApplied) {
      applied |= each.slots;
    } else {
      Finish(client, sequence, begun, /*applied=*/false);
      begun.verdict = verdict;
      return begun;
    }
  }
  if (!is_new_to_own) applied |= ~taken;
  begun.verdict = is_new ? Verdict::kApply : Verdict::kApplied;
  if (is_new && applied.any()) begun.only = std::make_unique<SlotSet>(~applied);
  return begun;
}

void SlotWindows::Finish(uint64_t client, uint64_t sequence, const Begun& begun,
                         bool applied) {
  for (UpdateWindow* const window : begun.windows) {
    window->Finish(client, sequence, applied);
  }
}

std::vector<SlotsApplied> SlotWindows::Export(const SlotSet& slots) const {
  std::vector<SlotsApplied> all;
  SlotSet rest = slots;
  for (const Taken& taken : taken_) {
    const SlotSet both = slots & taken.slots;
    if (both.none()) continue;
    all.push_back({both, taken.window->Export()});
    rest &= ~both;
  }
  if (rest.any()) all.push_back({rest, own_.Export()});
  return all;
}

std::vector<SlotsApplied> SlotWindows::ExportTaken() const {
  std::vector<SlotsApplied> all;
  for (const Taken& taken : taken_) {
    all.push_back({taken.slots, taken.window->Export()});
  }
  return all;
}

void SlotWindows::Take(const SlotsApplied& applied) {
  GiveAway(applied.slots);
  const Clock::time_point now = Clock::now();
  Taken taken{applied.slots, now, std::make_unique<UpdateWindow>(events_)};
  taken.window->Import(applied.clients);
  taken_.push_back(std::move(taken));
  next_join_ = now + kBetweenJoins;
}

void SlotWindows::GiveAway(const SlotSet& slots) {
  for (Taken& taken : taken_) taken.slots &= ~slots;
  DropEmpty();
}

void SlotWindows::DropEmpty() {
  const auto is_empty = [](const Taken& each) { return each.slots.none(); };
  taken_.erase(std::remove_if(taken_.begin(), taken_.end(), is_empty),
               taken_.end());
  if (taken_.empty()) next_join_ = Clock::time_point::max();
}

void SlotWindows::Join(Clock::time_point now) {
  for (Taken& taken : taken_) {
    const std::vector<ClientWindow> theirs = taken.window->Export();
    const bool is_old = now >= taken.at + kMostDelay;
    if (!is_old && Sorted(theirs) != Sorted(own_.Export())) continue;
    if (is_old) own_.Doubt(theirs);
    taken.slots.reset();
  }
  next_join_ = now + kBetweenJoins;
  DropEmpty();
}

}  // namespace persia
