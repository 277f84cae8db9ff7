// LostUpdates: after a shard recovered from a checkpoint, counts for each
// client the updates that the shard's rows lack.
//
// A client numbers its updates from 1 on and does not resend acknowledged ones.
// So the number of its first update after the recovery shows how many updates
// were lost.
//
// Thread-safe; never blocks beyond a short lock, and takes no lock unless Start
// was called.

#ifndef PERSIA_CC_SHARD_LOST_UPDATES_H_
#define PERSIA_CC_SHARD_LOST_UPDATES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "cc/base/client_window.h"
#include "cc/base/keyed_hash.h"

namespace persia {

class LostUpdates {
 public:
  // Begins to count. `clients` lists the updates that the recovered rows
  // include; the rows include no updates of other clients.
  void Start(const std::vector<ClientWindow>& clients) {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const ClientWindow& client : clients) {
      highest_[client.client] = client.highest;
    }
    started_ = true;
  }

  // Call it for each update. For a client's first update since Start, returns
  // the maximum number of earlier updates of this client that may be lost.
  // Returns 0 for later updates.
  uint64_t OnUpdate(uint64_t client, uint64_t sequence) {
    if (!started_.load(std::memory_order_relaxed) || client == 0) return 0;
    std::lock_guard<std::mutex> lock(mutex_);
    if (told_.size() >= kMostClients || !told_.insert(client).second) return 0;
    const auto known = highest_.find(client);
    const uint64_t has = known == highest_.end() ? 0 : known->second;
    const uint64_t lost = sequence > has + 1 ? sequence - has - 1 : 0;
    total_.fetch_add(lost, std::memory_order_relaxed);
    return lost;
  }

  // The sum of what OnUpdate has returned.
  uint64_t total() const { return total_.load(std::memory_order_relaxed); }

 private:
  static constexpr size_t kMostClients = 4096;

  std::atomic<bool> started_{false};
  std::atomic<uint64_t> total_{0};
  std::mutex mutex_;
  // The members below are guarded by mutex_.
  std::unordered_map<uint64_t, uint64_t, KeyedHash> highest_;
  std::unordered_set<uint64_t, KeyedHash> told_;
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_LOST_UPDATES_H_
