// Replies: performs requests inside the gate, and replies once what they
// changed is safe: durable, and at the shard's standby if the shard awaits
// that.
//
// Thread-safe. Nothing blocks beyond the gate.

#ifndef PERSIA_CC_SHARD_REPLIES_H_
#define PERSIA_CC_SHARD_REPLIES_H_

#include <cstdint>
#include <utility>

#include "cc/base/catch_bad_alloc.h"
#include "cc/base/event_log.h"
#include "cc/base/status.h"
#include "cc/following/followers.h"
#include "cc/journal/journal.h"
#include "cc/saving/base_keeper.h"
#include "cc/saving/gate.h"
#include "cc/service/embedding_service.h"
#include "cc/shard/acknowledgements.h"
#include "cc/shard/local_service.h"
#include "cc/shard/ownership.h"
#include "cc/shard/request_checks.h"
#include "cc/shard/slot_moves.h"

namespace persia {

inline constexpr EventKind kNoRoom{"requests refused for lack of resources",
                                   EventLevel::kWarning, 1};

class Replies {
 public:
  // All must outlive this object.
  struct Subject {
    Gate* gate;
    Followers* followers;
    SlotMoves* moves;
    const Ownership* ownership;
    Journal* journal;    // May be null.
    BaseKeeper* keeper;  // May be null.
    EventLog* events;    // May be null.
    Acknowledge acknowledge;
    Acknowledgements* acknowledgements;
  };

  explicit Replies(const Subject& subject) : subject_(subject) {}

  // Runs work(&log_end) inside the gate, and calls `done` once the log is safe
  // up to the position to which `work` set log_end.
  template <typename Work>
  void AnswerLogged(DoneCallback done, const Work& work) {
    uint64_t log_end = 0;
    const Status status = Inside([&] { return work(&log_end); });
    Answer(status, log_end, std::move(done));
  }

  // As AnswerLogged, for a request for rows, which waits while slots of its ids
  // are held. `work` must not refer to the caller's variables.
  template <typename Request, typename Work>
  void AnswerRows(const Request* request, DoneCallback done, const Work& work) {
    uint64_t log_end = 0;
    bool is_parked = false;
    const Status status = Inside([&] {
      HeldSlots* const held_slots = subject_.moves->held();
      if (held_slots->any()) {
        is_parked = held_slots->Park(
            [&](const SlotSet& held) { return Touches(*request, held); },
            [=] { AnswerRows(request, done, work); });
      }
      return is_parked ? Status() : work(&log_end);
    });
    if (!is_parked) Answer(status, log_end, std::move(done));
  }

  // Calls `done` with an error at once, or once the log is safe up to a
  // position; 0: at once.
  void Answer(const Status& status, uint64_t log_end, DoneCallback done) {
    if (subject_.keeper != nullptr) subject_.keeper->Look();
    subject_.moves->TidyWhenDue();
    if (!status.ok() || log_end == 0) return done(status);
    // A shard that was replaced acknowledges nothing.
    const bool is_alone = !subject_.ownership->IsReplaced() &&
                          (subject_.acknowledge == Acknowledge::kSelf ||
                           !subject_.ownership->HasStandby());
    if (is_alone) {
      return subject_.journal->WhenDurable(log_end, std::move(done));
    }
    // The journal outlives this object.
    subject_.journal->WhenDurable(
        log_end, [acknowledgements = subject_.acknowledgements, log_end,
                  done = std::move(done)](const Status& logged) {
          if (!logged.ok()) return done(logged);
          acknowledgements->When(log_end, done);
        });
  }

  // As AnswerLogged, for work that only reads: the call succeeds even if the
  // log has failed and can make nothing durable any more.
  template <typename Work>
  void AnswerRead(DoneCallback done, const Work& work) {
    uint64_t log_end = 0;
    Status status = Inside([&] { return work(&log_end); });
    subject_.moves->TidyWhenDue();
    if (!status.ok() || log_end == 0) return done(std::move(status));
    subject_.journal->WhenDurable(
        log_end, [done = std::move(done)](const Status&) { done(Status()); });
  }

  // Runs `work` inside the gate, so that no tables are replaced or dropped
  // while it uses the store.
  template <typename Work>
  Status Inside(const Work& work) {
    const Gate::Pass pass(subject_.gate);
    subject_.followers->ForgetIdle();
    const Status status = CatchBadAlloc(work);
    if (status.code() == Code::kResourceExhausted) {
      TellEvent(subject_.events, kNoRoom, "refused: ", status.message());
    }
    return status;
  }

 private:
  const Subject subject_;
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_REPLIES_H_
