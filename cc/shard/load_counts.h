// LoadCounts: counts the requests of a shard, and how busy each slot is.
//
// Lookups and updates are counted exactly. What they ask of each slot is
// estimated from a sample of their ids, so that counting costs a request next
// to nothing. Thread-safe; nothing blocks.

#ifndef PERSIA_CC_SHARD_LOAD_COUNTS_H_
#define PERSIA_CC_SHARD_LOAD_COUNTS_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "cc/base/hash.h"
#include "cc/base/slots.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"

namespace persia {

class LoadCounts {
 public:
  // One id of so many is counted, for all of them.
  static constexpr uint64_t kSample = 128;

  LoadCounts() : slots_(std::make_unique<Counts[]>(kSlots)) {}

  void CountLookup() { lookups_.fetch_add(1, std::memory_order_relaxed); }
  void CountUpdate() { updates_.fetch_add(1, std::memory_order_relaxed); }
  uint64_t lookups() const { return lookups_.load(std::memory_order_relaxed); }
  uint64_t updates() const { return updates_.load(std::memory_order_relaxed); }
  uint64_t requests() const { return lookups() + updates(); }

  // Counts what a request of which the shard owns all ids asks of their slots.
  template <typename Request>
  void CountSlots(const Request& request) {
    for (const auto& table : request.tables) CountIds(table.ids);
  }

  void AddTo(ServiceStats* stats) const {
    stats->lookups = lookups();
    stats->updates = updates();
  }

  // Sets the outputs of a request. May throw std::bad_alloc.
  Status Tell(SlotLoadsRequest* request) const {
    std::vector<SlotLoad> loads(kSlots);
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      const Counts& counts = slots_[slot];
      loads[slot] = {kSample * counts.ids.load(std::memory_order_relaxed),
                     kSample * counts.bytes.load(std::memory_order_relaxed)};
    }
    request->Tell(loads);
    return Status();
  }

 private:
  struct Counts {
    std::atomic<uint64_t> ids{0};
    std::atomic<uint64_t> bytes{0};
  };

  // Counts some ids of all that the thread's requests have, in a row: after
  // each it passes over a random number of them. Were each kSample-th id
  // counted, ids whose places in requests stay the same would be counted
  // together, and their slots would seem to be equally busy or idle.
  void CountIds(const TableIds& ids) {
    static thread_local uint64_t passed_over = 0, draws = 0;
    const uint64_t bytes = ids.dim * sizeof(float);
    uint64_t place = passed_over;
    while (place < ids.ids.size()) {
      Counts& counts = slots_[SlotOf(ids.ids[place])];
      counts.ids.fetch_add(1, std::memory_order_relaxed);
      counts.bytes.fetch_add(bytes, std::memory_order_relaxed);
      place += 1 + Mix64(++draws) % (2 * kSample - 1);  // kSample on average.
    }
    passed_over = place - ids.ids.size();
  }

  const std::unique_ptr<Counts[]> slots_;
  std::atomic<uint64_t> lookups_{0};
  std::atomic<uint64_t> updates_{0};
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_LOAD_COUNTS_H_
