#include "cc/topology/topology.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "cc/base/byte_reader.h"
#include "cc/base/byte_writer.h"

namespace persia {
namespace {

constexpr uint32_t kMagic = 0x504f5450;  // "PTOP"
// Upper bound of the members, those that have left included.
constexpr size_t kMostMembers = std::numeric_limits<uint16_t>::max();
constexpr size_t kLeastMemberBytes = 32;
// What Encode writes. Version 0 knows no standbys.
constexpr uint32_t kVersion = 1;
// No slot moves as often.
constexpr uint32_t kMostEpoch = uint32_t{1} << 31;

bool ComesFirst(const Member& a, const Member& b) {
  return std::tie(a.number, a.id) < std::tie(b.number, b.id);
}

// 0 for a shard that never had a standby.
uint64_t HashOfSuccession(const Member& member) {
  const uint64_t standby =
      member.standby.empty() ? 0 : Mix64(HashName(member.standby));
  return standby ^ (member.incarnation == 0 ? 0 : Mix64(member.incarnation));
}

uint64_t HashOf(const Member& member) {
  return Mix64(member.id ^ Mix64(uint64_t{member.version} << 32 |
                                 member.number << 1 | member.has_left)) ^
         HashName(member.address) ^ HashOfSuccession(member);
}

// Whether a description of a shard is valid, and not another one of it.
bool Supersedes(const Member& a, const Member& b) {
  return std::tie(a.incarnation, a.version, a.has_left, a.address, a.number,
                  a.standby) > std::tie(b.incarnation, b.version, b.has_left,
                                        b.address, b.number, b.standby);
}

// Neighboring slots with the same owner and epoch.
struct Run {
  uint32_t slots;
  uint32_t owner;  // A place in the list of members.
  uint32_t epoch;
};

Status Malformed(const std::string& what) {
  return Status(Code::kDataLoss, "a topology " + what);
}

// A hash of all that Encode writes.
uint64_t Check(const Topology& topology) {
  return Mix64(topology.fingerprint() ^ Mix64(topology.cluster()));
}

}  // namespace

Result<Topology> Topology::Found(uint64_t cluster,
                                 std::vector<Member> members) {
  if (members.empty() || members.size() > kSlots) {
    return InvalidArgument("a cluster must have 1 to ", kSlots,
                           " shards, received ", members.size());
  }
  const auto even = SlotOwners::Even(static_cast<uint32_t>(members.size()));
  std::set<std::string> addresses;
  for (const Member& member : members) {
    if (!addresses.insert(member.address).second) {
      return InvalidArgument("the shards of a cluster must have different ",
                             "addresses, received ", member.address, " twice");
    }
  }
  std::vector<uint64_t> owners(kSlots);
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    owners[slot] = members[even->OwnerOfSlot(slot)].id;
  }
  return Make(cluster, std::move(members), owners,
              std::vector<uint32_t>(kSlots, 1));
}

// Returns the topology in which `owners` are the ids of the slots' owners.
Result<Topology> Topology::Make(uint64_t cluster, std::vector<Member> members,
                                const std::vector<uint64_t>& owners,
                                std::vector<uint32_t> epochs) {
  if (cluster == 0) return InvalidArgument("a cluster's id must not be 0");
  if (members.size() > kMostMembers) {
    return InvalidArgument("a cluster may have had at most ", kMostMembers,
                           " shards, received ", members.size());
  }
  std::sort(members.begin(), members.end(), ComesFirst);
  std::unordered_map<uint64_t, uint16_t> places;
  Topology made;
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i].id == 0 ||
        !places.emplace(members[i].id, static_cast<uint16_t>(i)).second) {
      return InvalidArgument(
          "the ids of shards must differ, and not be 0, received ",
          members[i].id, " of ", members[i].address);
    }
    made.epoch_ += members[i].version;
    made.fingerprint_ = Mix64(made.fingerprint_ ^ HashOf(members[i]));
  }
  std::vector<uint16_t> of_slots(kSlots);
  auto place = places.end();
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    // Most neighbors have the same owner.
    if (slot == 0 || owners[slot] != owners[slot - 1]) {
      place = places.find(owners[slot]);
    }
    if (place == places.end()) {
      return InvalidArgument("slot ", slot, " belongs to no member");
    }
    of_slots[slot] = place->second;
    made.epoch_ += epochs[slot];
    made.fingerprint_ = Mix64(made.fingerprint_ ^ owners[slot]) + epochs[slot];
  }
  made.cluster_ = cluster;
  made.owners_ = std::make_shared<const SlotOwners>(
      static_cast<uint32_t>(members.size()), std::move(of_slots));
  made.members_ = std::move(members);
  made.epochs_ = std::move(epochs);
  return made;
}

std::vector<uint8_t> Topology::Encode() const {
  std::vector<Run> runs;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    const uint32_t owner = owners_->OwnerOfSlot(slot);
    const uint32_t epoch = epochs_[slot];
    if (runs.empty() || runs.back().owner != owner ||
        runs.back().epoch != epoch) {
      runs.push_back({0, owner, epoch});
    }
    ++runs.back().slots;
  }
  ByteWriter writer;
  writer.U32(kMagic);
  writer.U32(kVersion);
  writer.U64(cluster_);
  writer.U32(static_cast<uint32_t>(members_.size()));
  writer.U32(static_cast<uint32_t>(runs.size()));
  for (const Member& member : members_) {
    writer.U64(member.id);
    writer.U32(member.number);
    writer.U32(member.version);
    writer.U32(member.has_left ? 1 : 0);
    writer.U32(member.incarnation);
    writer.Text(member.address);
    writer.Text(member.standby);
  }
  for (const Run& run : runs) {
    writer.U32(run.slots);
    writer.U32(run.owner);
    writer.U32(run.epoch);
  }
  writer.U64(Check(*this));
  return writer.Take();
}

Result<Topology> Topology::Decode(ConstBytes bytes) {
  ByteReader reader(bytes);
  const bool is_one = reader.U32() == kMagic;
  const uint32_t version = reader.U32();
  if (is_one && version > kVersion) {
    return Malformed(Concat("has version ", version,
                            ", and this release reads ", kVersion,
                            " at most: use the newer release"));
  }
  const uint64_t cluster = reader.U64();
  const uint32_t member_count = reader.Count(kLeastMemberBytes);
  const uint32_t run_count = reader.Count(sizeof(Run));
  if (!is_one || reader.failed() || member_count > kMostMembers) {
    return Malformed("is not valid");
  }
  std::vector<Member> members(member_count);
  for (Member& member : members) {
    member.id = reader.U64();
    member.number = reader.U32();
    member.version = reader.U32();
    member.has_left = reader.Bool32();
    member.incarnation = reader.U32();
    member.address = reader.Text();
    if (version > 0) member.standby = reader.Text();
  }
  std::vector<uint64_t> owners;
  std::vector<uint32_t> epochs;
  for (uint32_t i = 0; i < run_count; ++i) {
    const uint32_t slots = reader.U32();
    const uint32_t owner = reader.U32();
    const uint32_t epoch = reader.U32();
    if (owner >= members.size() || slots == 0 ||
        slots > kSlots - owners.size()) {
      return Malformed("has slots of no shard, or too many");
    }
    if (epoch == 0 || epoch > kMostEpoch) {
      return Malformed("has a slot with a wrong epoch");
    }
    owners.insert(owners.end(), slots, members[owner].id);
    epochs.insert(epochs.end(), slots, epoch);
  }
  const uint64_t check = reader.U64();
  PERSIA_RETURN_IF_ERROR(reader.Finish("a topology"));
  if (owners.size() != kSlots) return Malformed("lacks slots");
  auto made = Make(cluster, std::move(members), owners, std::move(epochs));
  if (!made.ok()) return Malformed("is wrong: " + made.status().message());
  // A damaged topology would spread to all processes of the cluster.
  if (Check(*made) != check) return Malformed("is damaged");
  return made;
}

const Member* Topology::Find(uint64_t member) const {
  const auto place = PlaceOf(member);
  return place ? &members_[*place] : nullptr;
}

std::optional<uint32_t> Topology::PlaceOf(uint64_t member) const {
  for (uint32_t i = 0; i < members_.size(); ++i) {
    if (members_[i].id == member) return i;
  }
  return std::nullopt;
}

SlotSet Topology::SlotsOf(uint64_t member) const {
  SlotSet slots;
  const auto place = PlaceOf(member);
  for (uint32_t slot = 0; place && slot < kSlots; ++slot) {
    slots[slot] = owners_->OwnerOfSlot(slot) == *place;
  }
  return slots;
}

OwnedSlots Topology::OwnedBy(uint64_t member) const {
  const SlotSet slots = SlotsOf(member);
  std::map<uint32_t, SlotSet> by_epoch;
  SlotSet* of_last = nullptr;
  uint32_t last = 0;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    if (!slots[slot]) continue;
    // Most neighbors have the same epoch.
    if (of_last == nullptr || epochs_[slot] != last) {
      last = epochs_[slot];
      of_last = &by_epoch[last];
    }
    of_last->set(slot);
  }
  OwnedSlots owned;
  owned.cluster = cluster_;
  for (const auto& [epoch, of_epoch] : by_epoch) {
    owned.epochs.push_back({epoch, of_epoch});
  }
  return owned;
}

uint64_t Topology::RouteOf(uint64_t member) const {
  uint64_t route = Mix64(cluster_ ^ Mix64(member));
  const auto place = PlaceOf(member);
  if (place) route ^= HashOfSuccession(members_[*place]);
  for (uint32_t slot = 0; place && slot < kSlots; ++slot) {
    if (owners_->OwnerOfSlot(slot) != *place) continue;
    route = Mix64(route ^ (uint64_t{slot} << 32 | epochs_[slot]));
  }
  return route == 0 ? 1 : route;
}

std::vector<uint64_t> Topology::OwnerIds() const {
  std::vector<uint64_t> ids(kSlots);
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    ids[slot] = members_[owners_->OwnerOfSlot(slot)].id;
  }
  return ids;
}

Result<Topology> Topology::Merged(const Topology& other) const {
  if (cluster_ != other.cluster_) {
    return Status(Code::kFailedPrecondition,
                  "shards of two clusters were mixed");
  }
  std::vector<Member> members = members_;
  for (const Member& theirs : other.members_) {
    const auto place = PlaceOf(theirs.id);
    if (!place) {
      members.push_back(theirs);
    } else if (Supersedes(theirs, members[*place])) {
      members[*place] = theirs;
    }
  }
  std::vector<uint64_t> owners = OwnerIds();
  std::vector<uint32_t> epochs = epochs_;
  const std::vector<uint64_t> their_owners = other.OwnerIds();
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    if (std::tie(other.epochs_[slot], their_owners[slot]) <=
        std::tie(epochs[slot], owners[slot])) {
      continue;
    }
    owners[slot] = their_owners[slot];
    epochs[slot] = other.epochs_[slot];
  }
  return Make(cluster_, std::move(members), owners, std::move(epochs));
}

Topology Topology::WithOwner(const SlotSet& slots, uint64_t member) const {
  std::vector<uint64_t> owners = OwnerIds();
  std::vector<uint32_t> epochs = epochs_;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    if (!slots[slot]) continue;
    owners[slot] = member;
    ++epochs[slot];
  }
  return *Make(cluster_, members_, owners, std::move(epochs));
}

Topology Topology::WithMember(Member member) const {
  std::vector<Member> members = members_;
  const auto place = PlaceOf(member.id);
  if (place) {
    members[*place] = std::move(member);
  } else {
    members.push_back(std::move(member));
  }
  return *Make(cluster_, std::move(members), OwnerIds(), epochs_);
}

}  // namespace persia
