// Topology: the shards of a cluster, and which of them owns each slot.
//
// Each process has a copy, which it merges with those that it receives: there
// is no coordinator. Merging never fails to converge, since all facts are
// ordered: a slot's owner by the slot's epoch, which rises by 1 with each move,
// and a shard's description by its version. Only the owner of a slot decides
// that the slot moves, so there are never two owners of the same slot and
// epoch. (Where an owner is lost, whoever names another one makes sure that it
// is lost. If two programs name different ones, that with the higher id is
// valid. A standby that takes a shard's place keeps the shard's id, and has the
// next incarnation.)
//
// Thread-safety: an immutable value.

#ifndef PERSIA_CC_TOPOLOGY_TOPOLOGY_H_
#define PERSIA_CC_TOPOLOGY_TOPOLOGY_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "cc/base/export.h"
#include "cc/base/owned_slots.h"
#include "cc/base/slot_set.h"
#include "cc/base/slots.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/topology/member.h"

namespace persia {

class Topology {
 public:
  // The topology of a new cluster: each member owns as many neighboring slots,
  // in the order of the list, give or take one. `cluster` is a random number,
  // not 0. Returns kInvalidArgument unless there are 1 to kSlots members, with
  // different ids and addresses.
  static Result<Topology> Found(uint64_t cluster, std::vector<Member> members);

  // Parses what Encode has written. Returns kDataLoss for anything else.
  static Result<Topology> Decode(ConstBytes bytes);
  std::vector<uint8_t> Encode() const;

  // Identifies the cluster.
  uint64_t cluster() const { return cluster_; }
  // Rises with each change.
  uint64_t epoch() const { return epoch_; }
  // A hash of all of the topology: another one has another hash.
  uint64_t fingerprint() const { return fingerprint_; }
  // A hash of the slots that a member owns, of their epochs, and of the
  // member's incarnation and standby; not 0. So two processes know the same of
  // what a member owns if they have the same hash.
  uint64_t RouteOf(uint64_t member) const;

  // Ordered by number, and members with the same number by id.
  const std::vector<Member>& members() const { return members_; }
  // The place in members() of a member; nullopt if there is no such member.
  std::optional<uint32_t> PlaceOf(uint64_t member) const;
  // The member with this id; null if there is none.
  const Member* Find(uint64_t member) const;
  // The owners of the slots, as places in members().
  const std::shared_ptr<const SlotOwners>& owners() const { return owners_; }
  uint32_t EpochOfSlot(uint32_t slot) const { return epochs_[slot]; }
  SlotSet SlotsOf(uint64_t member) const;
  // The same slots, with their epochs.
  OwnedSlots OwnedBy(uint64_t member) const;

  // Returns this topology with what `other` knows better. Returns
  // kFailedPrecondition if it is that of another cluster.
  Result<Topology> Merged(const Topology& other) const;

  // Returns this topology after the slots have moved to a member, which must be
  // one of members().
  Topology WithOwner(const SlotSet& slots, uint64_t member) const;

  // Returns this topology with a new member, or another description of one.
  Topology WithMember(Member member) const;

 private:
  Topology() = default;
  static Result<Topology> Make(uint64_t cluster, std::vector<Member> members,
                               const std::vector<uint64_t>& owners,
                               std::vector<uint32_t> epochs);

  std::vector<uint64_t> OwnerIds() const;

  uint64_t cluster_ = 0;
  std::vector<Member> members_;
  std::shared_ptr<const SlotOwners> owners_;
  std::vector<uint32_t> epochs_;  // Of each slot, from 1 on.
  uint64_t epoch_ = 0;
  uint64_t fingerprint_ = 0;
};

using SharedTopology = std::shared_ptr<const Topology>;

}  // namespace persia

#endif  // PERSIA_CC_TOPOLOGY_TOPOLOGY_H_
