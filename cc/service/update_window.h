// UpdateWindow: recognises updates that were applied before.
//
// Of each client it remembers which of the last kWindow sequence numbers have
// been begun and finished; but of so many clients at most. Of the one that has
// been idle longest it then keeps the highest number alone: what comes from it
// above that is new, and what does not may have been applied, so it is refused.
// When there is no room for that either, new clients are refused. So no update
// is ever applied twice for want of memory.
//
// Thread-safe; never blocks beyond a short lock. Throws std::bad_alloc, and
// changes nothing then.

#ifndef PERSIA_CC_SERVICE_UPDATE_WINDOW_H_
#define PERSIA_CC_SERVICE_UPDATE_WINDOW_H_

#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "cc/base/event_log.h"
#include "cc/base/keyed_hash.h"
#include "cc/checkpoint/client_window.h"

namespace persia {

class UpdateWindow {
 public:
  // A client must not have updates in flight that are further apart.
  static constexpr uint64_t kWindow = ClientWindow::kSequences;

  struct Limits {
    size_t clients = size_t{1} << 16;  // 1.1 KiB each.
    size_t forgotten = size_t{1} << 20;
  };

  enum class Verdict {
    kApply,       // New: apply it, then call Finish.
    kApplied,     // Applied before: acknowledge it again.
    kInProgress,  // Its first arrival is being applied right now.
    kTooOld,      // Left the window: nobody can tell any more.
    kTooMany,     // No more clients can be told apart.
  };

  UpdateWindow() : UpdateWindow(nullptr, Limits()) {}
  // `events`, if any, is told of clients that are forgotten.
  explicit UpdateWindow(EventLog* events) : UpdateWindow(events, Limits()) {}
  UpdateWindow(EventLog* events, Limits limits)
      : events_(events), limits_(limits) {}
  UpdateWindow(const UpdateWindow&) = delete;
  UpdateWindow& operator=(const UpdateWindow&) = delete;

  Verdict Begin(uint64_t client, uint64_t sequence);

  // Ends what Begin allowed. If the update was not `applied`, nothing changed
  // and the same sequence may come again.
  void Finish(uint64_t client, uint64_t sequence, bool applied);

  // What was applied, of each client, the one that was idle longest first. A
  // forgotten one has nothing but its highest number; of one that came back,
  // all up to where it was forgotten counts as applied. Precondition: none is
  // in progress.
  std::vector<ClientWindow> Export() const;

  // These clients' updates were applied, and no others of theirs.
  void Import(const std::vector<ClientWindow>& clients);

 private:
  enum class State : uint8_t { kUnseen, kInProgress, kApplied };
  struct Client {
    uint64_t number = 0;
    uint64_t highest = 0;
    // It was forgotten when this was its highest: of what is not above, nobody
    // can tell any more.
    bool was_forgotten = false;
    uint64_t forgotten_at = 0;
    uint32_t in_progress = 0;
    Client* older = nullptr;  // Heard before it, and after it.
    Client* newer = nullptr;
    std::array<State, kWindow> states{};  // By sequence modulo kWindow.

    bool CannotTell(uint64_t sequence) const {
      return was_forgotten && sequence <= forgotten_at;
    }
  };

  // All below expect the lock.
  Client* Find(uint64_t number, uint64_t sequence, Verdict* verdict);
  Client* Make(uint64_t number, size_t most_forgotten);
  void MoveUp(Client* client, uint64_t sequence) const;
  void Link(Client* client);
  void Unlink(Client* client);
  bool MakeRoom(size_t most_forgotten);

  EventLog* const events_;
  const Limits limits_;
  mutable std::mutex mutex_;
  // All below are guarded by mutex_.
  std::unordered_map<uint64_t, Client, KeyedHash> clients_;
  // Their highest numbers.
  std::unordered_map<uint64_t, uint64_t, KeyedHash> forgotten_;
  Client* oldest_ = nullptr;  // Of clients_.
  Client* newest_ = nullptr;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_UPDATE_WINDOW_H_
