// UpdateWindow: recognises updates that were applied before.
//
// For each client it remembers which of the last kWindow sequence numbers have
// been begun and finished. Thread-safe; never blocks beyond a short lock.

#ifndef PERSIA_CC_SERVICE_UPDATE_WINDOW_H_
#define PERSIA_CC_SERVICE_UPDATE_WINDOW_H_

#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "cc/checkpoint/client_window.h"

namespace persia {

class UpdateWindow {
 public:
  // A client must not have updates in flight that are further apart.
  static constexpr uint64_t kWindow = ClientWindow::kSequences;

  enum class Verdict {
    kApply,       // New: apply it, then call Finish.
    kApplied,     // Applied before: acknowledge it again.
    kInProgress,  // Its first arrival is being applied right now.
    kTooOld,      // Left the window: nobody can tell any more.
  };

  Verdict Begin(uint64_t client, uint64_t sequence);

  // Ends what Begin allowed. If the update was not `applied`, nothing changed
  // and the same sequence may come again.
  void Finish(uint64_t client, uint64_t sequence, bool applied);

  // What was applied, of each client. Precondition: none is in progress.
  std::vector<ClientWindow> Export() const;

  // These clients' updates were applied, and no others of theirs.
  void Import(const std::vector<ClientWindow>& clients);

 private:
  enum class State : uint8_t { kUnseen, kInProgress, kApplied };
  struct Client {
    uint64_t highest = 0;
    std::array<State, kWindow> states{};  // By sequence modulo kWindow.
  };

  mutable std::mutex mutex_;
  std::unordered_map<uint64_t, Client> clients_;  // Guarded by mutex_.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_UPDATE_WINDOW_H_
