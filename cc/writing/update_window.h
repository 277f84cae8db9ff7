// UpdateWindow: recognizes updates that were applied before.
//
// For each of a limited number of clients, it stores which of the last kWindow
// sequence numbers have been begun and finished. Beyond that limit, the client
// that has been idle longest is forgotten: only its highest number is retained.
// Updates of a forgotten client above that number are new; its other updates
// are refused, since they may have been applied. The number of forgotten
// clients is limited too: beyond it, new clients are refused. So no update is
// ever applied twice for lack of memory.
//
// Thread-safe; never blocks beyond a short lock. A call that throws
// std::bad_alloc has changed nothing.

#ifndef PERSIA_CC_WRITING_UPDATE_WINDOW_H_
#define PERSIA_CC_WRITING_UPDATE_WINDOW_H_

#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "cc/base/client_window.h"
#include "cc/base/event_log.h"
#include "cc/base/keyed_hash.h"

namespace persia {

class UpdateWindow {
 public:
  // The sequence numbers of a client's updates in flight must differ by less
  // than this.
  static constexpr uint64_t kWindow = ClientWindow::kSequences;

  struct Limits {
    size_t clients = size_t{1} << 16;  // About 1.1 KiB per client.
    size_t forgotten = size_t{1} << 20;
  };

  enum class Verdict {
    kApply,       // New: apply the update, then call Finish.
    kApplied,     // Applied before: acknowledge the update again.
    kInProgress,  // The same update arrived before and is being applied.
    kTooOld,      // Below the window: it may have been applied.
    kTooMany,     // No room for another client.
  };

  UpdateWindow() : UpdateWindow(nullptr, Limits()) {}
  // `events`, if not null, receives an event for each client that is forgotten.
  explicit UpdateWindow(EventLog* events) : UpdateWindow(events, Limits()) {}
  UpdateWindow(EventLog* events, Limits limits)
      : events_(events), limits_(limits) {}
  UpdateWindow(const UpdateWindow&) = delete;
  UpdateWindow& operator=(const UpdateWindow&) = delete;

  Verdict Begin(uint64_t client, uint64_t sequence);

  // Ends an update for which Begin returned kApply. If it was not `applied`,
  // the client may send the same sequence number again.
  void Finish(uint64_t client, uint64_t sequence, bool applied);

  // Returns the applied updates of each client: first the forgotten clients,
  // each with nothing but its highest number, then the other clients, the
  // longest idle first. If a client was forgotten and has returned, all its
  // updates up to the number at which it was forgotten count as applied.
  // Precondition: no update is in progress.
  std::vector<ClientWindow> Export() const;

  // Replaces what is known of these clients: exactly the given updates count as
  // applied.
  void Import(const std::vector<ClientWindow>& clients);

  // Makes it unknown whether an update was applied, if `others` tells otherwise
  // of it than this window. Precondition: no update is in progress.
  void Doubt(const std::vector<ClientWindow>& others);

 private:
  enum class State : uint8_t { kUnseen, kInProgress, kApplied, kUnknown };
  struct Client {
    uint64_t number = 0;
    uint64_t highest = 0;
    // Whether the client was forgotten once, and its highest number at that
    // time. It is unknown which of its updates up to that number were applied.
    bool was_forgotten = false;
    uint64_t forgotten_at = 0;
    uint32_t in_progress = 0;
    // Neighbors in the list of clients, which is ordered by the time of the
    // last update.
    Client* older = nullptr;
    Client* newer = nullptr;
    std::array<State, kWindow> states{};  // Index: sequence modulo kWindow.

    bool CannotTell(uint64_t sequence) const {
      return was_forgotten && sequence <= forgotten_at;
    }
  };

  // The functions below require that mutex_ is held.
  Client* Find(uint64_t number, uint64_t sequence, Verdict* verdict);
  Client* Make(uint64_t number, size_t most_forgotten);
  void MoveUp(Client* client, uint64_t sequence) const;
  void Doubt(const ClientWindow& other, Client* client);
  void Link(Client* client);
  void Unlink(Client* client);
  bool MakeRoom(size_t most_forgotten);

  EventLog* const events_;
  const Limits limits_;
  mutable std::mutex mutex_;
  // The members below are guarded by mutex_.
  std::unordered_map<uint64_t, Client, KeyedHash> clients_;
  // The highest sequence number of each forgotten client.
  std::unordered_map<uint64_t, uint64_t, KeyedHash> forgotten_;
  // The ends of the list of clients: the longest idle client, and the one that
  // sent an update last.
  Client* oldest_ = nullptr;
  Client* newest_ = nullptr;
};

}  // namespace persia

#endif  // PERSIA_CC_WRITING_UPDATE_WINDOW_H_
