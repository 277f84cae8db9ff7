// UpdateEpochs: records, for each update of a client, the first epoch in which
// the rows that a service looks up reflect the update.
//
// An epoch is the number of changes that a service has acknowledged. A row that
// is requested in an epoch reflects every change that was acknowledged in that
// epoch or earlier. For each of a client's last kWindow updates, this class
// remembers the first epoch in which that update and all earlier updates of the
// client were acknowledged. Acknowledgements reach the client through this
// service, so a client never learns of an acknowledgement before this class
// does.
//
// Not thread-safe.

#ifndef PERSIA_CC_SERVICE_UPDATE_EPOCHS_H_
#define PERSIA_CC_SERVICE_UPDATE_EPOCHS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace persia {

class UpdateEpochs {
 public:
  static constexpr uint64_t kWindow = 1024;
  // If more clients send updates, the client whose last update is the oldest is
  // forgotten.
  static constexpr size_t kMaxClients = 256;
  // Later than every epoch.
  static constexpr uint64_t kNever = ~uint64_t{0};

  uint64_t now() const { return now_; }

  // The epoch from which on rows reflect all updates of `client` up to
  // `sequence`; kNever if that epoch is not known. 0 for sequence 0, which
  // precedes the first update.
  uint64_t Since(uint64_t client, uint64_t sequence) const;

  // Counts a change that belongs to no client, and returns the new epoch.
  uint64_t Advance() { return ++now_; }

  // Counts an update that was acknowledged. Updates may come repeatedly, and in
  // any order.
  void Acknowledge(uint64_t client, uint64_t sequence);

  // Forgets the client until its next acknowledged update. Call it for an
  // update whose outcome is unknown: it may be applied now or later.
  void Forget(uint64_t client) { clients_.erase(client); }

 private:
  struct Client {
    uint64_t first = 0;   // The lowest sequence remembered.
    uint64_t newest = 0;  // The highest sequence acknowledged.
    uint64_t heard_at = 0;
    std::array<uint64_t, kWindow> since;  // Index: sequence % kWindow.
  };

  Client* ClientOf(uint64_t client, uint64_t sequence);

  uint64_t now_ = 0;
  std::unordered_map<uint64_t, Client> clients_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_UPDATE_EPOCHS_H_
