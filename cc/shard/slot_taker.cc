#include "cc/shard/slot_taker.h"

#include <utility>

#include "cc/shard/slot_move.h"

namespace persia {
namespace {

constexpr EventKind kMoves{"moves of slots", EventLevel::kInfo, 60};
constexpr EventKind kFailedMoves{"failed moves of slots", EventLevel::kError,
                                 60};

}  // namespace

SlotTaker::~SlotTaker() { Stop(); }

Status SlotTaker::Do(MoveRequest* request) {
  switch (request->action) {
    case MoveAction::kStart:
      PERSIA_RETURN_IF_ERROR(Start(*request));
      break;
    case MoveAction::kProgress:
      break;
    case MoveAction::kStop:
      Stop();
      break;
  }
  request->progress = control_.progress();
  return Status();
}

Status SlotTaker::Start(const MoveRequest& request) {
  if (subject_.connect == nullptr) {
    return Status(Code::kUnimplemented, "this shard takes no slots over");
  }
  if (request.source == 0 || request.slots.none()) {
    return InvalidArgument("source and slots of a move must not be empty");
  }
  std::lock_guard<std::mutex> starting(starting_);
  if (control_.progress().state == MoveState::kRunning) {
    if (move_.source == request.source && move_.slots == request.slots) {
      return Status();
    }
    return Status(Code::kFailedPrecondition,
                  "this shard takes other slots over at present: wait until "
                  "that has ended");
  }
  if (thread_.joinable()) thread_.join();
  move_ = request;
  MoveProgress progress;
  progress.state = MoveState::kRunning;
  progress.source = request.source;
  progress.slots = static_cast<uint32_t>(request.slots.count());
  control_.Begin(progress);
  thread_ = std::thread([this] { Run(move_); });
  return Status();
}

void SlotTaker::Stop() {
  std::lock_guard<std::mutex> starting(starting_);
  control_.Stop();
  if (thread_.joinable()) thread_.join();
}

void SlotTaker::Run(const MoveRequest& move) {
  auto source = subject_.connect(move.address);
  const Status outcome = source.ok() ? MoveSlots(subject_.move, move,
                                                 std::move(*source), &control_)
                                     : source.status();
  const MoveProgress reached = control_.progress();
  if (outcome.ok()) {
    TellEvent(subject_.events, kMoves, "took over ", reached.moved,
              " slots with ", reached.rows, " rows from ", move.address);
  } else {
    TellEvent(subject_.events, kFailedMoves, "took over ", reached.moved,
              " of ", reached.slots, " slots from ", move.address, ": ",
              outcome.message());
  }
  control_.Change([&](MoveProgress* progress) {
    progress->state = MoveState::kEnded;
    progress->outcome = outcome;
  });
}

}  // namespace persia
