#include "cc/shard/slot_move.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "cc/base/catch_bad_alloc.h"
#include "cc/base/random_bytes.h"
#include "cc/saving/pace.h"
#include "cc/service/await.h"
#include "cc/shard/changes_call.h"

namespace persia {
namespace {

// In how many steps the slots are handed over. While some are, the others are
// served.
constexpr uint32_t kMostGroups = 4;

// How many rows, and how many bytes of rows, are fetched at once at most: the
// owner answers no other request of the same thread meanwhile. Fewer in the
// first copy while there are requests for rows.
constexpr uint64_t kRowsAtOnce = uint64_t{1} << 14;
constexpr uint64_t kBytesAtOnce = uint64_t{1} << 20;
constexpr uint64_t kBytesBetweenRequests = kBytesAtOnce / 8;

// How long slots are held at first, and at most.
constexpr uint32_t kFirstHoldMs = 500;
constexpr uint32_t kMostHoldMs = HandOverRequest::kMostHoldMs;

// How much processor time the copy of rows takes, of the owner and of the
// threads that send and receive too, for each second of the thread that places
// them.
constexpr double kWork = 5;

// A copy that takes too long may never end: the owner loses track of changes if
// more ids come and go meanwhile than it has rows. Then the move begins again,
// and does not rest any more.
constexpr uint32_t kMostPacedBegins = 2;

constexpr double kMoveCallSeconds = 5;
constexpr double kMovePauseSeconds = 0.1;
// How long the owner may be silent, or refuse to hand slots over, before the
// move fails.
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

class SlotMove {
 public:
  SlotMove(const MoveSubject& subject, const MoveRequest& move,
           std::unique_ptr<EmbeddingService> source, MoveControl* control)
      : subject_(subject),
        control_(*control),
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
    if (given_up.any() && begins_ > 0) {
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
      other_since_.reset();
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
    ++begins_;
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
  // and after requests for rows. What follows is as quick as it can be: changes
  // must not come faster than they are copied, and requests wait at the end.
  Status CopyFirst() { return Copy(Until::kOnlyChanges); }

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
      PERSIA_RETURN_IF_ERROR(Fetch(until, &changes));
      const bool is_first = position_.epoch == 0;
      if ((changes.begins != Begins::kNothing) != is_first) {
        again_ = true;  // The owner was restarted, or lost track of changes.
        return Status();
      }
      is_last =
          until == Until::kComplete ? changes.complete : changes.only_changes;
      position_ = changes.position;
      if (!is_last) ahead_.Start(NextRequest(until));
      requests_ = changes.requests;
      const uint64_t bytes = CountRows(changes);
      PERSIA_RETURN_IF_ERROR(Place(&changes));
      if (until == Until::kOnlyChanges) {
        if (begins_ <= kMostPacedBegins) pace_.Rest();
        PERSIA_RETURN_IF_ERROR(Rest(began, bytes));
      }
    }
    return Status();
  }

  ChangesRequest NextRequest(Until until) const {
    ChangesRequest changes;
    changes.deadline = DeadlineAfter(kMoveCallSeconds);
    changes.position = position_;
    changes.max_rows = kRowsAtOnce;
    const bool lets_others_go = until == Until::kOnlyChanges;
    changes.max_bytes = lets_others_go && pace_.is_in_use()
                            ? kBytesBetweenRequests
                            : kBytesAtOnce;
    changes.whole_rows = true;
    changes.slots = move_.slots;
    return changes;
  }

  // Receives the changes after position_.
  Status Fetch(Until until, ChangesRequest* changes) {
    if (ahead_.under_way() && ahead_.Wait().ok()) {
      *changes = std::move(*ahead_.request());
      return control_.CheckStopping();
    }
    *changes = NextRequest(until);
    return CallSource(changes, &EmbeddingService::Changes);
  }

  Status Place(ChangesRequest* changes) {
    const auto placed = subject_.placer->Place(changes, left_);
    if (!placed.ok()) return placed.status();
    subject_.on_change();
    if (*placed) return DropDropped(*changes);
    again_ = true;
    return MatchTables(*changes);
  }

  // A program that drops a table drops it on all shards, but on none that had
  // left the cluster.
  Status DropDropped(const ChangesRequest& changes) {
    if (subject_.slots.ownership->owned_slots().any()) return Status();
    for (const TableChanges& table : changes.tables) {
      if (table.fate != TableFate::kDropped) continue;
      PERSIA_RETURN_IF_ERROR(subject_.changer->DropStale(table.config));
    }
    return Status();
  }

  // This shard has another table than the owner, of the same name. If it owns
  // slots, a restore or a drop has not reached both shards yet.
  Status MatchTables(const ChangesRequest& changes) {
    if (!other_since_) other_since_ = Clock::now();
    if (SecondsUntil(*other_since_) < -kMostSilentSeconds) {
      return Status(Code::kFailedPrecondition,
                    "this shard has other tables than the slots' owner: "
                    "restore a checkpoint on all shards, or drop the tables on "
                    "all");
    }
    if (subject_.slots.ownership->owned_slots().any()) return Pause();
    for (const TableChanges& table : changes.tables) {
      // Without a number, the owner is about to tell the table anew.
      if (table.fate == TableFate::kDropped || table.identity.number == 0) {
        continue;
      }
      PERSIA_RETURN_IF_ERROR(
          subject_.changer->ReplaceStale(table.config, table.identity));
    }
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
    control_.Change([&](MoveProgress* progress) {
      progress->rows += rows;
      progress->bytes += bytes;
    });
    return bytes;
  }

  // Has the owner hand slots over. Tries again while it refuses, since it may
  // hold them for a call whose reply was lost, or restore a checkpoint.
  Status TakeOver(const SlotSet& group) {
    const TimePoint until = DeadlineAfter(kMostSilentSeconds);
    for (uint32_t hold_ms = kFirstHoldMs;;
         hold_ms = std::min(2 * hold_ms, kMostHoldMs)) {
      const Status taken = TakeOverWithin(hold_ms, group);
      const bool may_pass = taken.code() == Code::kFailedPrecondition;
      if (!may_pass || Clock::now() >= until) return taken;
      PERSIA_RETURN_IF_ERROR(Pause());
      PERSIA_RETURN_IF_ERROR(Ask().status());
      if ((group & left_).none()) return Status();
    }
  }

  Status TakeOverWithin(uint32_t hold_ms, const SlotSet& group) {
    const TimePoint began = Clock::now();
    HandOverRequest step;
    step.step = HandOverStep::kHold;
    step.slots = group;
    step.hold_ms = hold_ms;
    step.taker = subject_.slots.ownership->member();
    PERSIA_RETURN_IF_ERROR(CallSource(&step, &EmbeddingService::HandOver));
    const Status prepared = PrepareHeld(step.applied);
    if (!prepared.ok() || again_) {
      Release(&step);
      return prepared;
    }
    step.step = HandOverStep::kCommit;
    uncertain_ = group;
    Status committed = CallSource(&step, &EmbeddingService::HandOver);
    // Refused: the hold was too short, or a checkpoint was restored meanwhile.
    if (committed.code() == Code::kFailedPrecondition) uncertain_.reset();
    if (committed.ok()) committed = Learn(step.topology);
    Release(&step);
    PERSIA_RETURN_IF_ERROR(committed);
    CountHeld(Clock::now() - began);
    return Status();
  }

  // Ends the hold of the last step. If the owner does not answer, the hold ends
  // by itself.
  void Release(HandOverRequest* step) {
    step->step = HandOverStep::kRelease;
    step->deadline = DeadlineAfter(kMoveCallSeconds);
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
    control_.Change([&](MoveProgress* progress) { progress->moved = moved; });
    return Status();
  }

  // Calls the owner. Repeats the call while the owner does not answer.
  template <typename Request, typename Method>
  Status CallSource(Request* request, Method method) {
    const TimePoint until = DeadlineAfter(kMostSilentSeconds);
    for (;;) {
      PERSIA_RETURN_IF_ERROR(control_.CheckStopping());
      request->deadline = DeadlineAfter(kMoveCallSeconds);
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
    end.deadline = DeadlineAfter(kMoveCallSeconds);
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
    end.deadline = DeadlineAfter(kMoveCallSeconds);
    end.step = HandOverStep::kEnd;
    (void)Await(
        [&](DoneCallback done) { source_->HandOver(&end, std::move(done)); });
  }

  void CountHeld(Clock::duration held) {
    const auto us = static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(held).count());
    control_.Change([&](MoveProgress* progress) {
      progress->most_held_us = std::max(progress->most_held_us, us);
    });
  }

  Status Pause() {
    return control_.WaitUntil(DeadlineAfter(kMovePauseSeconds));
  }

  // Waits as long as the limit of bytes per second demands.
  Status Rest(TimePoint began, uint64_t bytes) {
    if (move_.most_bytes_per_second == 0) return Status();
    const double seconds = static_cast<double>(bytes) /
                           static_cast<double>(move_.most_bytes_per_second);
    return control_.WaitUntil(began +
                              std::chrono::duration_cast<Clock::duration>(
                                  std::chrono::duration<double>(seconds)));
  }

  const MoveSubject& subject_;
  MoveControl& control_;
  const MoveRequest& move_;
  const std::unique_ptr<EmbeddingService> source_;
  ChangesCall ahead_;
  SlotSet left_;       // Slots that were not handed over yet.
  SlotSet uncertain_;  // Those that the owner may have handed over.
  FollowPosition position_;
  // Since when this shard has had another table than the owner.
  std::optional<TimePoint> other_since_;
  // How many requests for rows the owner has had, as far as is known. This
  // shard has its own already, or none.
  uint64_t requests_ = 0;
  Pace pace_{[this] { return requests_ + subject_.requests(); }, kWork,
             [this](double seconds) {
               (void)control_.WaitUntil(DeadlineAfter(seconds));
             }};
  uint32_t begins_ = 0;  // How often the move has begun.
  bool again_ = false;   // Whether the move must begin again.
};

}  // namespace

Status MoveSlots(const MoveSubject& subject, const MoveRequest& move,
                 std::unique_ptr<EmbeddingService> source,
                 MoveControl* control) {
  return SlotMove(subject, move, std::move(source), control).Run();
}

}  // namespace persia
