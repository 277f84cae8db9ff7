// EventLog: events that a server reports to its operator, one line per event.
//
//   inline constexpr EventKind kTablesMade{"tables made", EventLevel::kInfo,
//   60}; TellEvent(events, kTablesMade, "table \"", name, "\" made");
//
// A thread of its own takes the events (Take) and shows them. Reporting an
// event never waits for that thread: it acquires a lock for a short time.
// Events that do not fit into the log, or that exceed their kind's rate, are
// only counted. Callers must not report an event for each request, nor put a
// token, an id or a row into one.
//
// Thread-safe. Reporting never throws: if memory runs out, the event is lost.

#ifndef PERSIA_CC_BASE_EVENT_LOG_H_
#define PERSIA_CC_BASE_EVENT_LOG_H_

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <unordered_map>

#include "cc/base/clock.h"
#include "cc/base/status.h"

namespace persia {

// The numbers are part of the C interface: never renumber.
enum class EventLevel { kInfo = 1, kWarning = 2, kError = 3, kDebug = 4 };

// A kind of events, which share a rate limit. Must be a constant: a kind is
// identified by its address.
struct EventKind {
  const char* name;  // In the plural, for "7 more bad frames".
  EventLevel level;
  int most_a_minute;  // At least 1; further events are only counted.
};

struct Event {
  EventLevel level = EventLevel::kInfo;
  double unix_seconds = 0;  // When it was reported.
  // One line without control characters, even if a peer supplied some.
  std::string text;
};

class EventLog {
 public:
  using Now = Clock::time_point (*)();

  explicit EventLog(Now now = &Clock::now) : now_(now) {}
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // Whether an event of this kind may be added now. If not, the event is only
  // counted. Call once per event.
  bool Admits(const EventKind& kind) noexcept;

  // Adds an event, without a check of its kind's rate.
  void Add(EventLevel level, std::string text) noexcept;

  // Takes the oldest event. Blocks until there is one; returns nullopt at
  // `deadline` or after Close. If events of a kind were only counted, their
  // number comes as an event, a minute after the first event of that minute.
  // After Close, the remaining events and counts can still be taken.
  std::optional<Event> Take(Deadline deadline);

  // Wakes Take. Events can still be added and taken, but Take no longer blocks.
  void Close();

 private:
  // One kind's events in its current minute.
  struct Minute {
    Clock::time_point begin;
    int told = 0;
    uint64_t more = 0;
  };

  // The caller of these must hold mutex_.
  void Push(EventLevel level, std::string text);
  void TellCounts();
  // When the next count must be added, at most `limit`.
  Deadline NextCount(Deadline limit) const;

  const Now now_;
  std::mutex mutex_;
  std::condition_variable added_;
  // All below: guarded by mutex_.
  std::deque<Event> events_;
  std::unordered_map<const EventKind*, Minute> minutes_;
  uint64_t lost_ = 0;  // Events that did not fit into events_.
  bool closed_ = false;
};

// Adds an event, whose text is Concat(pieces...), to `log` if that is not null.
template <typename... Pieces>
void TellEvent(EventLog* log, const EventKind& kind, const Pieces&... pieces) {
  if (log == nullptr || !log->Admits(kind)) return;
  try {
    log->Add(kind.level, Concat(pieces...));
  } catch (const std::bad_alloc&) {
    // The event is lost. The work that runs out of memory reports it.
  }
}

}  // namespace persia

#endif  // PERSIA_CC_BASE_EVENT_LOG_H_
