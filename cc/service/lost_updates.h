// LostUpdates: after a shard came back from a checkpoint, which updates of each
// client its rows lack.
//
// A client numbers its updates from 1 on and does not send again what was
// acknowledged. So the first that comes tells how many were.
//
// Thread-safe; never blocks beyond a short lock, and takes none where nothing
// was lost.

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
  // The rows have these clients' updates, and nobody else's.
  void Start(const std::vector<ClientWindow>& clients) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const ClientWindow& client : clients) {
      highest_[client.client] = client.highest;
    }
    started_ = true;
  }

  // To be called with each update. How many of its client's are lost, at most,
  // when it is that client's first; else 0.
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
