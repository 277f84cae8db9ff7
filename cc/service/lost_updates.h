// LostUpdates: counts, after a shard recovered from a checkpoint, the updates
// of each client that its rows lack.
//
// A client numbers its updates from 1 on and does not resend acknowledged ones.
// So its first update after the recovery shows how many were lost.
//
// Thread-safe; never blocks beyond a short lock, and takes none unless Start
// was called.

#ifndef PERSIA_CC_SERVICE_LOST_UPDATES_H_
#define PERSIA_CC_SERVICE_LOST_UPDATES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cc/base/keyed_hash.h"
#include "cc/checkpoint/client_window.h"

namespace persia {

class LostUpdates {
 public:
  // The rows include these clients' updates, and no other client's.
  void Start(const std::vector<ClientWindow>& clients) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const ClientWindow& client : clients) {
      highest_[client.client] = client.highest;
    }
    started_ = true;
  }

  // Call it for each update. Returns the largest possible number of its
  // client's lost updates if it is that client's first; else 0.
  uint64_t OnUpdate(uint64_t client, uint64_t sequence) {
    if (!started_.load(std::memory_order_relaxed) || client == 0) return 0;
    std::lock_guard<std::mutex> lock(mutex_);
    if (told_.size() >= kMostClients || !told_.insert(client).second) return 0;
    const auto known = highest_.find(client);
    const uint64_t has = known == highest_.end() ? 0 : known->second;
    return sequence > has + 1 ? sequence - has - 1 : 0;
  }

 private:
  static constexpr size_t kMostClients = 4096;

  std::atomic<bool> started_{false};
  std::mutex mutex_;
  // All below are guarded by mutex_.
  std::unordered_map<uint64_t, uint64_t, KeyedHash> highest_;
  std::unordered_set<uint64_t, KeyedHash> told_;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_LOST_UPDATES_H_
