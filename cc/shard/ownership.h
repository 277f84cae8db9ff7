// Ownership: which cluster a shard belongs to, and which slots it owns there.
//
// Thread-safe; never blocks beyond a short lock.

#ifndef PERSIA_CC_SHARD_OWNERSHIP_H_
#define PERSIA_CC_SHARD_OWNERSHIP_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>

#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/service/topology_request.h"
#include "cc/topology/topology.h"

namespace persia {

class Ownership {
 public:
  // `member` is the shard's id, not 0.
  explicit Ownership(uint64_t member) : member_(member) {}

  // Replaces what the constructor was given by what the shard's log knows. Must
  // not run concurrently with other calls.
  void Recover(uint64_t member, SharedTopology topology);

  uint64_t member() const { return member_; }
  // Null as long as the shard belongs to no cluster.
  SharedTopology topology() const;

  // Returns the topology that the shard has after a request; null if that is
  // none, as before. Returns kFailedPrecondition if the request tells of
  // another cluster, and kDataLoss if it is malformed.
  Result<SharedTopology> After(const TopologyRequest& request) const;
  // Replaces the topology, by one that After has returned.
  void Set(SharedTopology topology);

  // Whether the sender of a request knows exactly what the shard owns: `route`
  // is Topology::RouteOf the shard.
  bool Knows(uint64_t route) const {
    return route == route_.load(std::memory_order_acquire);
  }
  // For a request that the shard does not know: returns kMoved if the shard
  // does not own the slots of all ids. A shard of no cluster owns everything
  // for clients that know of none, and nothing for others.
  Status Check(uint64_t route, Span<const int64_t> ids) const;

  // The error of an update that the shard does not know. Its sender may send
  // the rest of the update for slots that it does not know to be this shard's,
  // and both would count as the same part.
  static Status OtherRoute();

 private:
  struct Owned {
    SharedTopology topology;
    SlotSet slots;
  };

  std::shared_ptr<const Owned> owned() const;

  uint64_t member_;
  std::atomic<uint64_t> route_{0};
  mutable std::mutex mutex_;
  std::shared_ptr<const Owned> owned_;  // Guarded by mutex_; null: no cluster.
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_OWNERSHIP_H_
