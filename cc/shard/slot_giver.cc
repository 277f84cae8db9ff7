#include "cc/shard/slot_giver.h"

#include <utility>

#include "cc/base/catch_bad_alloc.h"

namespace persia {
namespace {

// How long requests wait after a hand-over for the taker to say that it knows
// that it owns the slots: it would refuse them before. It does so at once,
// unless it is down.
constexpr double kMostSecondsToLearn = 1;

}  // namespace

Status SlotGiver::Do(HandOverRequest* request) {
  switch (request->step) {
    case HandOverStep::kAsk:
    case HandOverStep::kEnd:
      break;
    case HandOverStep::kHold:
      PERSIA_RETURN_IF_ERROR(
          subject_.membership->UnlessRestoring([&] { return Hold(request); }));
      break;
    case HandOverStep::kCommit:
      // The reply to the same request may have been lost.
      if (IsHandedOver(*request)) break;
      PERSIA_RETURN_IF_ERROR(subject_.membership->UnlessRestoring(
          [&] { return Commit(*request); }));
      break;
    case HandOverStep::kRelease:
      subject_.held->Release(request->hold);
      break;
  }
  request->generation = subject_.generation->load();
  const SharedTopology topology = subject_.slots.ownership->topology();
  request->topology.clear();
  if (topology != nullptr) request->topology = topology->Encode();
  return Status();
}

Status SlotGiver::Hold(HandOverRequest* request) {
  if (request->hold_ms < 1) {
    return InvalidArgument("hold_ms must be at least 1, received 0");
  }
  const Gate::Closed closed(subject_.gate);
  const SlotSet missing =
      request->slots & ~subject_.slots.ownership->owned_slots();
  if (request->slots.none() || missing.any()) {
    return Status(Code::kFailedPrecondition,
                  Concat("this shard does not own the slots \"",
                         ToString(missing), "\""));
  }
  const auto hold =
      subject_.held->Hold(request->slots, request->hold_ms / 1000.0);
  if (!hold.ok()) return hold.status();
  request->hold = *hold;
  request->applied = subject_.slots.windows->Export(request->slots);
  return Status();
}

bool SlotGiver::IsHandedOver(const HandOverRequest& request) const {
  const SharedTopology topology = subject_.slots.ownership->topology();
  return topology != nullptr && request.slots.any() &&
         (request.slots & ~topology->SlotsOf(request.taker)).none();
}

Status SlotGiver::Commit(const HandOverRequest& request) {
  if (request.slots.none()) {
    return InvalidArgument("slots must not be empty");
  }
  if (request.generation != subject_.generation->load()) {
    return Status(Code::kFailedPrecondition,
                  "a checkpoint was restored since the slots were held: take "
                  "them over again");
  }
  if (!subject_.held->Keep(request.hold, request.slots)) {
    return Status(Code::kFailedPrecondition,
                  "the slots are no longer held, since the taker took too "
                  "long: hold them again");
  }
  const Status given = CatchBadAlloc([&] {
    return subject_.membership->GiveAway(request.slots, request.taker);
  });
  if (given.ok()) {
    subject_.held->EndWithin(request.hold, kMostSecondsToLearn);
  } else {
    subject_.held->Release(request.hold);
  }
  return given;
}

}  // namespace persia
