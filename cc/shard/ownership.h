// Ownership: which cluster a shard belongs to, and which slots it owns there.
//
// Thread-safe; never blocks beyond a short lock.

#ifndef PERSIA_CC_SHARD_OWNERSHIP_H_
#define PERSIA_CC_SHARD_OWNERSHIP_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "cc/base/owned_slots.h"
#include "cc/base/slot_set.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/service/topology_request.h"
#include "cc/topology/topology.h"

namespace persia {

class Ownership {
 public:
  // `member` is the shard's id, not 0.
  explicit Ownership(uint64_t member) : member_(member) {}

  // Replaces what the constructor was given by what the shard's log knows, or
  // by the next incarnation of a shard whose place this process takes. Must not
  // run concurrently with other calls.
  void SetMember(uint64_t member, uint32_t incarnation) {
    member_ = member;
    incarnation_ = incarnation;
  }

  uint64_t member() const { return member_; }
  uint32_t incarnation() const { return incarnation_; }
  // The shard, as its topology describes it; nullopt if it belongs to no
  // cluster.
  std::optional<Member> Own() const;
  // Whether a topology says that the shard's standby has taken its place, so
  // that the shard owns nothing any more.
  bool IsReplaced(const Topology& topology) const;
  // Null as long as the shard belongs to no cluster.
  SharedTopology topology() const;
  // The slots that the shard owns: all, if it belongs to no cluster.
  SlotSet slots() const;
  // The same slots, with their epochs.
  OwnedSlots WithEpochs() const;
  // Whether the shard's standby has taken its place. Costs an atomic load.
  bool IsReplaced() const {
    return is_replaced_.load(std::memory_order_acquire);
  }
  // Whether the shard has, or had, a standby. Costs an atomic load.
  bool HasStandby() const {
    return has_standby_.load(std::memory_order_acquire);
  }
  bool OwnsAll() const { return owns_all_.load(std::memory_order_acquire); }
  // A name for people, and for the shard's files: "shard-00003", by its number.
  // No other shard of the cluster has it.
  std::string Name() const;

  // The slots that the shard owns in its cluster; none if it belongs to none.
  SlotSet owned_slots() const;

  // Returns the topology that a shard with the topology `now`, which may be
  // null, has after a request: `now` itself if the request tells nothing new.
  // Returns kFailedPrecondition if the request tells of another cluster, and
  // kDataLoss if it is malformed.
  Result<SharedTopology> After(const SharedTopology& now,
                               const TopologyRequest& request) const;
  // Replaces the topology. If the shard's own slots change, no other thread may
  // use the slots meanwhile.
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
    OwnedSlots with_epochs;
  };

  std::shared_ptr<const Owned> owned() const;

  uint64_t member_;
  uint32_t incarnation_ = 0;
  std::atomic<uint64_t> route_{0};
  std::atomic<bool> owns_all_{true};
  std::atomic<bool> has_standby_{false};
  std::atomic<bool> is_replaced_{false};
  mutable std::mutex mutex_;
  std::shared_ptr<const Owned> owned_;  // Guarded by mutex_; null: no cluster.
};

}  // namespace persia

#endif  // PERSIA_CC_SHARD_OWNERSHIP_H_
