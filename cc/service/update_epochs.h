// UpdateEpochs: from when on what is asked of a service reflects the updates of
// a client.
//
// Epochs count the changes that a service has acknowledged. What is asked of it
// in an epoch reflects every change of that epoch and before. For each client
// it remembers in which epoch each of its last kWindow updates, and all before,
// had been acknowledged; a client knows of no earlier acknowledgement of its
// own than this one.
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
  // The one that was silent longest is forgotten for one more.
  static constexpr size_t kMaxClients = 256;
  // No epoch is as late.
  static constexpr uint64_t kNever = ~uint64_t{0};

  uint64_t now() const { return now_; }

  // The epoch since when all updates of `client` up to `sequence` are
  // reflected; kNever if that is not known. Sequence 0 is before the first
  // update: always.
  uint64_t Since(uint64_t client, uint64_t sequence) const;

  // Counts a change that is no client's.
  uint64_t Advance() { return ++now_; }

  // Counts an update that was acknowledged; maybe again, and in any order.
  void Acknowledge(uint64_t client, uint64_t sequence);

  // Nothing is known of the client until it updates again: an update whose end
  // nobody knows may be applied now or later.
  void Forget(uint64_t client) { clients_.erase(client); }

 private:
  struct Client {
    uint64_t first = 0;   // Of those remembered.
    uint64_t newest = 0;  // Of those acknowledged.
    uint64_t heard_at = 0;
    std::array<uint64_t, kWindow> since;  // By sequence modulo kWindow.
  };

  Client* ClientOf(uint64_t client, uint64_t sequence);

  uint64_t now_ = 0;
  std::unordered_map<uint64_t, Client> clients_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_UPDATE_EPOCHS_H_
