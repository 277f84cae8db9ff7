#include "cc/shard/slot_taker.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <system_error>
#include <utility>

#include "cc/base/catch_bad_alloc.h"
#include "cc/base/random_bytes.h"
#include "cc/base/thread_priority.h"
#include "cc/service/await.h"
#include "cc/shard/changes_call.h"

namespace persia {
namespace {

constexpr EventKind kMoves{"moves of slots", EventLevel::kInfo, 60};
constexpr EventKind kFailedMoves{"failed moves of slots", EventLevel::kError,
                                 60};

// In how many steps the slots are handed over. While some are, the others are
// served.
constexpr uint32_t kMostGroups = 4;

// How many rows, and how many bytes of rows, are fetched at once at most: the
// owner answers no other request of the same thread meanwhile.
constexpr uint64_t kRowsAtOnce = uint64_t{1} << 14;
constexpr uint64_t kBytesAtOnce = uint64_t{1} << 20;

// How long slots are held at first, and at most.
constexpr uint32_t kFirstHoldMs = 500;
constexpr uint32_t kMostHoldMs = HandOverRequest::kMostHoldMs;

constexpr double kCallSeconds = 5;
constexpr double kPauseSeconds = 0.1;
// How long the owner may be silent before the move fails.
constexpr double kMostSilentSeconds = 60;

std::vector<SlotSet> GroupsOf(const SlotSet& slots) {
  const size_t count = slots.count();
  const size_t each =
      std::max<size_t>(1, (count + kMostGroups - 1) / kMostGroups);
  std::vector<SlotSet> groups;
  size_t in_group = each;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    if (!slots[slot]) continue;
    if (in_group == each) {
      groups.emplace_back();
      in_group = 0;
    }
    groups.back().set(slot);
    ++in_group;
  }
  return groups;
}

}  // namespace

// One move, on the taker's thread.
class SlotMove {
 public:
  SlotMove(SlotTaker* taker, const MoveRequest& move,
           std::unique_ptr<EmbeddingService> source)
      : taker_(*taker),
        subject_(taker->subject_),
        move_(move),
        source_(std::move(source)),
        ahead_(source_.get()),
        left_(move.slots) {}

  // Moves all slots, and tidies up whatever happens.
  Status Run() {
    Status outcome = CatchBadAlloc([&] { return MoveAll(); });
    EndFollowing();
    EndHandOver();
    // Slots that the owner may have handed over are not touched.
    const SlotSet given_up = left_ & ~uncertain_;
    if (given_up.any() && begun_) {
      const Status stopped = subject_.membership->StopTaking(given_up);
      if (outcome.ok()) outcome = stopped;
    }
    return outcome;
  }

 private:
  using TimePoint = Clock::time_point;

  Status MoveAll() {
    for (;;) {
      again_ = false;
      PERSIA_RETURN_IF_ERROR(Begin());
      if (left_.none()) return Status();
      PERSIA_RETURN_IF_ERROR(CopyFirst());
      if (again_) continue;
      PERSIA_RETURN_IF_ERROR(CopyUntilComplete());
      if (again_) continue;
      for (const SlotSet& group : GroupsOf(left_)) {
        PERSIA_RETURN_IF_ERROR(TakeOver(group));
        if (again_) break;
        PERSIA_RETURN_IF_ERROR(CopyUntilComplete());
        if (again_) break;
      }
    }
  }

  // Learns what was handed over already, and begins to take over the rest.
  Status Begin() {
    const TimePoint until = DeadlineAfter(kMostSilentSeconds);
    for (;;) {
      const auto generation = Ask();
      if (!generation.ok()) return generation.status();
      if (left_.none()) return Status();
      EndFollowing();
      const Status begun = subject_.membership->BeginTaking(left_, *generation);
      if (begun.ok()) break;
      // A restore may be in progress.
      const bool may_end = begun.code() == Code::kFailedPrecondition;
      if (!may_end || Clock::now() >= until) return begun;
      PERSIA_RETURN_IF_ERROR(Pause());
    }
    begun_ = true;
    const auto follower = RandomNonZero();
    if (!follower.ok()) return follower.status();
    position_ = FollowPosition();
    position_.follower = *follower;
    return Status();
  }

  // Learns what the owner knows of the cluster, and returns its generation.
  // kFailedPrecondition if it does not own the slots that are left.
  Result<uint64_t> Ask() {
    HandOverRequest ask;
    ask.step = HandOverStep::kAsk;
    PERSIA_RETURN_IF_ERROR(CallSource(&ask, &EmbeddingService::HandOver));
    PERSIA_RETURN_IF_ERROR(Learn(ask.topology));
    const SharedTopology topology = subject_.slots.ownership->topology();
    const SlotSet others = left_ & ~topology->SlotsOf(move_.source);
    if (others.none()) return ask.generation;
    return Status(Code::kFailedPrecondition,
                  Concat("slots belong to other shards than the one to take "
                         "them from: ",
                         ToString(others)));
  }

  // Copies each row once, without haste: within the limit of bytes per second,
  // and after the requests of the same machine. What follows is as quick as it
  // can be: changes must not come faster than they are copied, and requests
  // wait at the end.
  Status CopyFirst() {
    Status copied;
    const auto copy = [&] {
      copied = CatchBadAlloc([&] { return Copy(Until::kOnlyChanges); });
    };
    try {
      std::thread([&] {
        YieldToOthers();
        copy();
      }).join();
    } catch (const std::system_error&) {
      copy();  // There is no further thread.
    }
    return copied;
  }

  // Copies rows until all changes before the last call have arrived.
  Status CopyUntilComplete() { return Copy(Until::kComplete); }

  enum class Until { kOnlyChanges, kComplete };

  // Copies rows until then, or until the move must begin again. The owner
  // prepares the next rows while this shard places those of the last reply.
  Status Copy(Until until) {
    const Status copied = CopyAll(until);
    // What a call that nobody waits for brings is not lost: the position tells
    // the owner that it did not arrive.
    (void)ahead_.Wait();
    return copied;
  }

  Status CopyAll(Until until) {
    bool is_last = false;
    while (!is_last && !again_) {
      const TimePoint began = Clock::now();
      ChangesRequest changes;
      PERSIA_RETURN_IF_ERROR(Fetch(&changes));
      const bool is_first = position_.epoch == 0;
      if ((changes.begins != Begins::kNothing) != is_first) {
        again_ = true;  // The owner was restarted, or lost track of changes.
        return Status();
      }
      is_last =
          until == Until::kComplete ? changes.complete : changes.only_changes;
      position_ = changes.position;
      if (!is_last) ahead_.Start(NextRequest());
      const uint64_t bytes = CountRows(changes);
      PERSIA_RETURN_IF_ERROR(Place(&changes));
      if (until == Until::kOnlyChanges) {
        PERSIA_RETURN_IF_ERROR(Rest(began, bytes));
      }
    }
    return Status();
  }

  ChangesRequest NextRequest() const {
    ChangesRequest changes;
    changes.deadline = DeadlineAfter(kCallSeconds);
    changes.position = position_;
    changes.max_rows = kRowsAtOnce;
    changes.max_bytes = kBytesAtOnce;
    changes.whole_rows = true;
    changes.slots = move_.slots;
    return changes;
  }

  // Receives the changes after position_.
  Status Fetch(ChangesRequest* changes) {
    if (ahead_.under_way() && ahead_.Wait().ok()) {
      *changes = std::move(*ahead_.request());
      return CheckStopping();
    }
    *changes = NextRequest();
    return CallSource(changes, &EmbeddingService::Changes);
  }

  Status Place(ChangesRequest* changes) {
    const auto placed = subject_.placer->Place(changes, left_);
    if (!placed.ok()) return placed.status();
    subject_.on_change();
    if (*placed) return Status();
    again_ = true;
    return Pause();
  }

  // Adds the rows to the progress; returns how many bytes they have.
  uint64_t CountRows(const ChangesRequest& changes) {
    uint64_t rows = 0;
    uint64_t bytes = 0;
    for (const TableChanges& table : changes.tables) {
      rows += table.rows.size();
      bytes += table.rows.bytes.size() + table.rows.size() * sizeof(int64_t);
    }
    Count([&](MoveProgress* progress) {
      progress->rows += rows;
      progress->bytes += bytes;
    });
    return bytes;
  }

  Status TakeOver(const SlotSet& group) {
    for (uint32_t hold_ms = kFirstHoldMs;; hold_ms *= 2) {
      hold_ms = std::min(hold_ms, kMostHoldMs);
      PERSIA_RETURN_IF_ERROR(CheckStopping());
      const TimePoint began = Clock::now();
      HandOverRequest step;
      step.step = HandOverStep::kHold;
      step.slots = group;
      step.hold_ms = hold_ms;
      step.taker = subject_.slots.ownership->member();
      const Status held = CallSource(&step, &EmbeddingService::HandOver);
      if (held.code() == Code::kFailedPrecondition) {
        // They are held already, by a call whose reply was lost; or they are no
        // longer the owner's.
        PERSIA_RETURN_IF_ERROR(Pause());
        PERSIA_RETURN_IF_ERROR(Ask().status());
        continue;
      }
      PERSIA_RETURN_IF_ERROR(held);
      const Status prepared = PrepareHeld(step.applied);
      if (!prepared.ok() || again_) {
        Release(&step);
        return prepared;
      }
      step.step = HandOverStep::kCommit;
      uncertain_ = group;
      const Status committed = CallSource(&step, &EmbeddingService::HandOver);
      if (committed.code() != Code::kFailedPrecondition) {
        PERSIA_RETURN_IF_ERROR(committed);
        const Status learned = Learn(step.topology);
        Release(&step);
        PERSIA_RETURN_IF_ERROR(learned);
        CountHeld(Clock::now() - began);
        return Status();
      }
      uncertain_.reset();  // The hold has ended before: it was too short.
    }
  }

  // Ends the hold of the last step. If the owner does not answer, the hold ends
  // by itself.
  void Release(HandOverRequest* step) {
    step->step = HandOverStep::kRelease;
    step->deadline = DeadlineAfter(kCallSeconds);
    (void)Await(
        [&](DoneCallback done) { source_->HandOver(step, std::move(done)); });
  }

  // Receives the last changes of the slots that are held, and makes them
  // durable.
  Status PrepareHeld(const std::vector<SlotsApplied>& applied) {
    PERSIA_RETURN_IF_ERROR(CopyUntilComplete());
    if (again_) return Status();
    for (const SlotsApplied& each : applied) {
      PERSIA_RETURN_IF_ERROR(subject_.membership->Prepare(each));
    }
    return Status();
  }

  // Tells the shard a topology, and counts the slots that it then owns.
  Status Learn(const std::vector<uint8_t>& topology) {
    if (topology.empty()) {
      return Status(Code::kFailedPrecondition,
                    "the slots' owner belongs to no cluster");
    }
    PERSIA_RETURN_IF_ERROR(subject_.membership->Learn(topology));
    uncertain_.reset();
    left_ &= ~subject_.slots.ownership->owned_slots();
    const auto moved =
        static_cast<uint32_t>(move_.slots.count() - left_.count());
    Count([&](MoveProgress* progress) { progress->moved = moved; });
    return Status();
  }

  // Calls the owner. Repeats the call while the owner does not answer.
  template <typename Request, typename Method>
  Status CallSource(Request* request, Method method) {
    const TimePoint until = DeadlineAfter(kMostSilentSeconds);
    for (;;) {
      PERSIA_RETURN_IF_ERROR(CheckStopping());
      request->deadline = DeadlineAfter(kCallSeconds);
      Status status = Await([&](DoneCallback done) {
        (source_.get()->*method)(request, std::move(done));
      });
      if (!IsOutage(status) || Clock::now() >= until) return status;
      PERSIA_RETURN_IF_ERROR(Pause());
    }
  }

  void EndFollowing() {
    if (position_.follower == 0) return;
    ChangesRequest end;
    end.deadline = DeadlineAfter(kCallSeconds);
    end.position = position_;
    end.max_rows = 0;
    // If the owner does not answer, it forgets the follower some time later.
    (void)Await(
        [&](DoneCallback done) { source_->Changes(&end, std::move(done)); });
    position_ = FollowPosition();
  }

  // Lets the owner remove the rows that it has given away.
  void EndHandOver() {
    HandOverRequest end;
    end.deadline = DeadlineAfter(kCallSeconds);
    end.step = HandOverStep::kEnd;
    (void)Await(
        [&](DoneCallback done) { source_->HandOver(&end, std::move(done)); });
  }

  template <typename Change>
  void Count(const Change& change) {
    std::lock_guard<std::mutex> lock(taker_.mutex_);
    change(&taker_.progress_);
  }

  void CountHeld(Clock::duration held) {
    const auto us = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(held).count());
    Count([&](MoveProgress* progress) {
      progress->most_held_us = std::max(progress->most_held_us, us);
    });
  }

  Status CheckStopping() {
    std::lock_guard<std::mutex> lock(taker_.mutex_);
    return taker_.stopping_ ? Status(Code::kCancelled, "the move was stopped")
                            : Status();
  }

  Status Pause() { return WaitUntil(DeadlineAfter(kPauseSeconds)); }

  // Waits as long as the limit of bytes per second demands.
  Status Rest(TimePoint began, uint64_t bytes) {
    if (move_.most_bytes_per_second == 0) return Status();
    const double seconds = static_cast<double>(bytes) /
                           static_cast<double>(move_.most_bytes_per_second);
    return WaitUntil(began + std::chrono::duration_cast<Clock::duration>(
                                 std::chrono::duration<double>(seconds)));
  }

  Status WaitUntil(TimePoint time) {
    {
      std::unique_lock<std::mutex> lock(taker_.mutex_);
      taker_.changed_.wait_until(lock, time,
                                 [this] { return taker_.stopping_; });
    }
    return CheckStopping();
  }

  SlotTaker& taker_;
  const SlotTaker::Subject& subject_;
  const MoveRequest& move_;
  const std::unique_ptr<EmbeddingService> source_;
  ChangesCall ahead_;
  SlotSet left_;       // Slots that were not handed over yet.
  SlotSet uncertain_;  // Those that the owner may have handed over.
  FollowPosition position_;
  bool begun_ = false;
  bool again_ = false;  // Whether the move must begin again.
};

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
  std::lock_guard<std::mutex> lock(mutex_);
  request->progress = progress_;
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
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (progress_.state == MoveState::kRunning) {
      if (move_.source == request.source && move_.slots == request.slots) {
        return Status();
      }
      return Status(Code::kFailedPrecondition,
                    "this shard takes other slots over at present: wait until "
                    "that has ended");
    }
  }
  if (thread_.joinable()) thread_.join();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    move_ = request;
    progress_ = MoveProgress();
    progress_.state = MoveState::kRunning;
    progress_.source = request.source;
    progress_.slots = static_cast<uint32_t>(request.slots.count());
    stopping_ = false;
  }
  thread_ = std::thread([this] { Run(move_); });
  return Status();
}

void SlotTaker::Stop() {
  std::lock_guard<std::mutex> starting(starting_);
  {
    std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void SlotTaker::Run(const MoveRequest& move) {
  auto source = subject_.connect(move.address);
  const Status outcome = source.ok()
                             ? SlotMove(this, move, std::move(*source)).Run()
                             : source.status();
  std::lock_guard<std::mutex> lock(mutex_);
  progress_.state = MoveState::kEnded;
  progress_.outcome = outcome;
  if (outcome.ok()) {
    TellEvent(subject_.events, kMoves, "took over ", progress_.moved,
              " slots with ", progress_.rows, " rows from ", move.address);
  } else {
    TellEvent(subject_.events, kFailedMoves, "took over ", progress_.moved,
              " of ", progress_.slots, " slots from ", move.address, ": ",
              outcome.message());
  }
}

}  // namespace persia
