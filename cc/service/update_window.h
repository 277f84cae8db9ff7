// UpdateWindow: recognizes updates that were applied before.
//
// For each client it remembers which of the last kWindow sequence numbers have
// been begun and finished, up to a limit of clients. Beyond that limit, only
// the highest number is retained of the client that has been idle longest (the
// client is forgotten): its updates above that number are new, and others are
// refused, since they may have been applied. Once the limit of forgotten
// clients is reached too, new clients are refused. So no update is ever applied
// twice for lack of memory.
//
// Thread-safe; never blocks beyond a short lock. If it throws std::bad_alloc,
// it has changed nothing.

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
  // A client's updates in flight must have sequence numbers less than this
  // apart.
  static constexpr uint64_t kWindow = ClientWindow::kSequences;

  struct Limits {
    size_t clients = size_t{1} << 16;  // About 1.1 KiB each.
    size_t forgotten = size_t{1} << 20;
  };

  enum class Verdict {
    kApply,       // New: apply it, then call Finish.
    kApplied,     // Applied before: acknowledge it again.
    kInProgress,  // An earlier arrival of it is being applied.
    kTooOld,      // Below the window: no longer known whether it was applied.
    kTooMany,     // No room for another client.
  };

  UpdateWindow() : UpdateWindow(nullptr, Limits()) {}
  // `events`, if not null, logs the clients that are forgotten.
  explicit UpdateWindow(EventLog* events) : UpdateWindow(events, Limits()) {}
  UpdateWindow(EventLog* events, Limits limits)
      : events_(events), limits_(limits) {}
  UpdateWindow(const UpdateWindow&) = delete;
  UpdateWindow& operator=(const UpdateWindow&) = delete;

  Verdict Begin(uint64_t client, uint64_t sequence);

  // Ends an update for which Begin returned kApply. If it was not `applied`,
  // nothing changed and the same sequence may come again.
  void Finish(uint64_t client, uint64_t sequence, bool applied);

  // The applied updates of each client: first the forgotten clients, each with
  // nothing but its highest number, then the others, the one idle longest
  // first. Of a client that was forgotten and has returned, all updates up to
  // the number at which it was forgotten count as applied. Precondition: none
  // is in progress.
  std::vector<ClientWindow> Export() const;

  // Replaces what is known of these clients: exactly these updates were
  // applied.
  void Import(const std::vector<ClientWindow>& clients);

 private:
  enum class State : uint8_t { kUnseen, kInProgress, kApplied };
  struct Client {
    uint64_t number = 0;
    uint64_t highest = 0;
    // Whether it was forgotten once, and its highest number then: it is unknown
    // which updates up to that number were applied.
    bool was_forgotten = false;
    uint64_t forgotten_at = 0;
    uint32_t in_progress = 0;
    // Neighbors in the list of clients by the time of their last update.
    Client* older = nullptr;
    Client* newer = nullptr;
    std::array<State, kWindow> states{};  // By sequence modulo kWindow.

    bool CannotTell(uint64_t sequence) const {
      return was_forgotten && sequence <= forgotten_at;
    }
  };

  // All below require mutex_.
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
  // The highest number of each forgotten client.
  std::unordered_map<uint64_t, uint64_t, KeyedHash> forgotten_;
  Client* oldest_ = nullptr;  // Ends of the list through clients_.
  Client* newest_ = nullptr;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_UPDATE_WINDOW_H_
