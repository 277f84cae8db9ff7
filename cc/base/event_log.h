// EventLog: what a server has to tell its operator, one line an event.
//
//   inline constexpr EventKind kTablesMade{"tables made", EventLevel::kInfo,
//   60}; TellEvent(events, kTablesMade, "table \"", name, "\" made");
//
// Whoever shows events takes them on a thread of its own (Take). Telling never
// waits for that thread: it takes a short lock, and what there is no room for,
// or was told too often, is counted instead. Never an event a request; never a
// token, an id or a row in one.
//
// Thread-safe. Telling throws nothing: an event that there is no memory for is
// lost.

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

// The numbers are those of the C interface: never renumber.
enum class EventLevel { kInfo = 1, kWarning = 2, kError = 3, kDebug = 4 };

// What is told alike, and at most so often. A constant: a kind is known by its
// address.
struct EventKind {
  const char* name;  // Of several, as "bad frames": "7 more bad frames".
  EventLevel level;
  int most_a_minute;  // At least 1; those beyond are counted.
};

struct Event {
  EventLevel level = EventLevel::kInfo;
  double unix_seconds = 0;  // When it was told.
  // One line without control characters, whatever a peer put into it.
  std::string text;
};

class EventLog {
 public:
  using Now = Clock::time_point (*)();

  explicit EventLog(Now now = &Clock::now) : now_(now) {}
  EventLog(const EventLog&) = delete;
  EventLog& operator=(const EventLog&) = delete;

  // Whether an event of this kind is told now; else it is counted, and that is
  // all. Each event asks once.
  bool Admits(const EventKind& kind) noexcept;

  // Adds an event, without asking whether it may be.
  void Add(EventLevel level, std::string text) noexcept;

  // The oldest event that was not taken. Blocks until there is one, or until
  // `deadline` or Close: nothing then. How many of a kind were not told comes
  // as an event, a minute after that kind's first. After Close what is left can
  // be taken, such counts too.
  std::optional<Event> Take(Deadline deadline);

  // Wakes Take. More can be told and taken; nothing blocks any more.
  void Close();

 private:
  // Of one kind, in its present minute.
  struct Minute {
    Clock::time_point begin;
    int told = 0;
    uint64_t more = 0;
  };

  // These expect the lock.
  void Push(EventLevel level, std::string text);
  void TellCounts();
  // When the next count is to be told.
  Deadline NextCount(Deadline limit) const;

  const Now now_;
  std::mutex mutex_;
  std::condition_variable added_;
  // All below are guarded by mutex_.
  std::deque<Event> events_;
  std::unordered_map<const EventKind*, Minute> minutes_;
  uint64_t lost_ = 0;  // There was no room for them.
  bool closed_ = false;
};

// Tells what happened, in pieces that Concat takes, if `log` is not null.
template <typename... Pieces>
void TellEvent(EventLog* log, const EventKind& kind, const Pieces&... pieces) {
  if (log == nullptr || !log->Admits(kind)) return;
  try {
    log->Add(kind.level, Concat(pieces...));
  } catch (const std::bad_alloc&) {
    // What runs out of memory tells so itself.
  }
}

}  // namespace persia

#endif  // PERSIA_CC_BASE_EVENT_LOG_H_
