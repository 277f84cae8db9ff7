#include "cc/shard/slot_moves.h"

#include <utility>

#include "cc/base/catch_bad_alloc.h"

namespace persia {
namespace {

// How long after a hand-over the rows are removed if the taker does not say
// that it was the last one.
constexpr double kMostSecondsToSweep = 60;

}  // namespace

SlotMoves::SlotMoves(const Subject& subject)
    : subject_(subject),
      giver_({subject.slots, subject.membership, &held_, subject.gate,
              subject.generation}),
      placer_(
          {subject.slots.store, subject.gate, subject.maker, subject.writer}),
      taker_({{subject.slots, subject.membership, &placer_, subject.changer,
               subject.requests, subject.on_change},
              subject.connect,
              subject.events}) {}

void SlotMoves::HandOver(HandOverRequest* request, DoneCallback done) {
  thread_.Run(
      request->deadline,
      [=] {
        const Status status = CatchBadAlloc([&] { return giver_.Do(request); });
        if (request->step == HandOverStep::kEnd) SweepLater();
        return status;
      },
      std::move(done));
}

void SlotMoves::Move(MoveRequest* request, DoneCallback done) {
  thread_.Run(
      request->deadline,
      [=] { return CatchBadAlloc([&] { return taker_.Do(request); }); },
      std::move(done));
}

void SlotMoves::TidyWhenDue() {
  JoinWhenDue();
  const int64_t sweep_at = sweep_at_.load(std::memory_order_relaxed);
  if (sweep_at == kNever) return;
  if (Clock::now().time_since_epoch().count() >= sweep_at) SweepLater();
}

void SlotMoves::JoinWhenDue() {
  SlotWindows* const windows = subject_.slots.windows;
  if (!windows->has_taken() || !windows->may_join(Clock::now())) return;
  if (joins_.exchange(true)) return;
  thread_.Run(
      Deadline::max(),
      [this, windows] {
        const Gate::Closed closed(subject_.gate);
        windows->Join(Clock::now());
        return Status();
      },
      [this](const Status&) { joins_ = false; });
}

void SlotMoves::DelaySweep() {
  sweep_at_ = DeadlineAfter(kMostSecondsToSweep).time_since_epoch().count();
}

// Removes the rows of slots that were given away, in the background.
void SlotMoves::SweepLater() {
  sweep_at_ = kNever;
  if (sweeps_->exchange(true)) return;
  subject_.file_thread->Run(
      Deadline::max(),
      [membership = subject_.membership, sweeps = sweeps_] {
        *sweeps = false;
        return CatchBadAlloc([&] {
          membership->Sweep();
          return Status();
        });
      },
      [sweeps = sweeps_](const Status& swept) {
        if (!swept.ok()) *sweeps = false;
      });
}

}  // namespace persia
