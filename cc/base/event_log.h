// EventLog: events that a server reports to its operator, one line per event.
//
//   inline constexpr EventKind kTablesMade{"tables made",
//                                          EventLevel::kInfo, 60};
//   TellEvent(events, kTablesMade, "table \"", name, "\" made");
//
// A separate thread takes the events with Take and prints them. Reporting an
// event does not wait for that thread; it only locks a mutex for a short time.
// An event is counted but not stored if the log is full or if its kind's rate
// limit is exceeded. Callers must not report an event for each request, nor put
// a token, an id or a row into an event.
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

// The C interface passes these numbers, so they must never change.
enum class EventLevel { kInfo = 1, kWarning = 2, kError = 3, kDebug = 4 };

// A kind of event. Events of one kind share a rate limit. A kind must be a
// constant, because the log identifies it by its address.
struct EventKind {
  // In the plural, because the log reports, for example, "7 more bad frames".
  const char* name;
  EventLevel level;
  // How many events of this kind are reported per minute, at least 1. Further
  // events are only counted.
  int most_a_minute;
};

struct Event {
  EventLevel level = EventLevel::kInfo;
  double unix_seconds = 0;  // The time at which the event was reported.
  // One line without control characters: such characters, which may come from a
  // peer, are escaped.
  std::string text;
};

class EventLog {
 public:
  using Now = Clock::time_point (*)();

  explicit EventLog(Now now = &Clock::now) : now_(now) {}
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // Returns whether the rate limit permits one more event of this kind; if not,
  // counts the event. Call this once per event.
  bool Admits(const EventKind& kind) noexcept;

  // Adds an event without checking the rate limit of its kind.
  void Add(EventLevel level, std::string text) noexcept;

  // Removes and returns the oldest event. If there is none, blocks until an
  // event is added, and returns nullopt at `deadline` or after Close. If events
  // of a kind were only counted, because of the rate limit, Take returns their
  // number as an event of its own when the kind's current minute is over. After
  // Close, the remaining events and counts can still be taken.
  std::optional<Event> Take(Deadline deadline);

  // Wakes a blocked Take. After Close, events can still be added and taken, but
  // Take no longer blocks.
  void Close();

 private:
  // The events of one kind within its current minute, for the rate limit.
  struct Minute {
    Clock::time_point begin;
    int told = 0;
    uint64_t more = 0;
  };

  // The caller of Push, TellCounts or NextCount must hold mutex_.
  void Push(EventLevel level, std::string text);
  void TellCounts();
  // Returns when the next count of unreported events is due, but at most
  // `limit`.
  Deadline NextCount(Deadline limit) const;

  const Now now_;
  std::mutex mutex_;
  std::condition_variable added_;
  // mutex_ guards all members below.
  std::deque<Event> events_;
  std::unordered_map<const EventKind*, Minute> minutes_;
  // The number of events that were lost because events_ was full.
  uint64_t lost_ = 0;
  bool closed_ = false;
};

// Adds an event with the text Concat(pieces...) to `log`, unless `log` is null
// or the kind's rate limit is exceeded.
template <typename... Pieces>
void TellEvent(EventLog* log, const EventKind& kind, const Pieces&... pieces) {
  if (log == nullptr || !log->Admits(kind)) return;
  try {
    log->Add(kind.level, Concat(pieces...));
  } catch (const std::bad_alloc&) {
    // The event is lost. No second report is needed here, because the operation
    // that runs out of memory reports its own error.
  }
}

}  // namespace persia

#endif  // PERSIA_CC_BASE_EVENT_LOG_H_
