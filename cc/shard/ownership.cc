#include "cc/shard/ownership.h"

#include <algorithm>
#include <cinttypes>
#include <cstdio>
#include <utility>
#include <vector>

namespace persia {

SharedTopology Ownership::topology() const {
  const auto owned = this->owned();
  return owned == nullptr ? nullptr : owned->topology;
}

std::optional<Member> Ownership::Own() const {
  const SharedTopology topology = this->topology();
  const Member* const own =
      topology == nullptr ? nullptr : topology->Find(member_);
  return own == nullptr ? std::nullopt : std::optional<Member>(*own);
}

SlotSet Ownership::slots() const {
  const auto owned = this->owned();
  return owned == nullptr ? SlotSet().set() : owned->slots;
}

OwnedSlots Ownership::WithEpochs() const {
  const auto owned = this->owned();
  return owned == nullptr ? SlotsOfNoCluster() : owned->with_epochs;
}

std::string Ownership::Name() const {
  const auto topology = this->topology();
  const Member* const own =
      topology == nullptr ? nullptr : topology->Find(member_);
  const uint32_t number = own == nullptr ? 0 : own->number;
  char name[48];
  std::snprintf(name, sizeof(name), "shard-%05" PRIu32, number);
  if (own == nullptr) return name;
  // Two programs that add shards at the same time may give them one number.
  const std::vector<Member>& members = topology->members();
  const bool is_shared =
      std::any_of(members.begin(), members.end(), [&](const Member& member) {
        return member.number == number && member.id != member_ &&
               !member.has_left;
      });
  if (!is_shared) return name;
  std::snprintf(name, sizeof(name), "shard-%05" PRIu32 "-%016" PRIx64, number,
                member_);
  return name;
}

std::shared_ptr<const Ownership::Owned> Ownership::owned() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return owned_;
}

SlotSet Ownership::owned_slots() const {
  const auto owned = this->owned();
  return owned == nullptr ? SlotSet() : owned->slots;
}

Result<SharedTopology> Ownership::After(const SharedTopology& now,
                                        const TopologyRequest& request) const {
  if (request.told.empty() || (request.founds && now != nullptr)) return now;
  const auto told = Topology::Decode(request.told);
  if (!told.ok()) return told.status();
  if (now == nullptr) {
    if (!told->PlaceOf(member_)) return SharedTopology();
    return std::make_shared<const Topology>(*told);
  }
  auto merged = now->Merged(*told);
  if (!merged.ok()) {
    return Status(
        merged.status().code(),
        "this shard belongs to another cluster: each shard belongs to "
        "the cluster of the first program that lists it and creates a "
        "table");
  }
  if (merged->fingerprint() == now->fingerprint())
    return now;  // Nothing is newer.
  return std::make_shared<const Topology>(std::move(*merged));
}

bool Ownership::IsReplaced(const Topology& topology) const {
  const Member* const own = topology.Find(member_);
  return own != nullptr && own->incarnation > incarnation_;
}

void Ownership::Set(SharedTopology topology) {
  auto owned = std::make_shared<Owned>();
  const bool is_replaced = IsReplaced(*topology);
  if (!is_replaced) {
    owned->slots = topology->SlotsOf(member_);
    owned->with_epochs = topology->OwnedBy(member_);
  }
  // Nobody knows what a shard owns that was replaced: all are told.
  const uint64_t route = is_replaced ? Mix64(~topology->RouteOf(member_))
                                     : topology->RouteOf(member_);
  const Member* const own = topology->Find(member_);
  const bool has_standby =
      is_replaced || (own != nullptr && !own->standby.empty());
  owned->topology = std::move(topology);
  const bool owns_all = owned->slots.all();
  std::lock_guard<std::mutex> lock(mutex_);
  owned_ = std::move(owned);
  owns_all_.store(owns_all, std::memory_order_release);
  is_replaced_.store(is_replaced, std::memory_order_release);
  has_standby_.store(has_standby, std::memory_order_release);
  route_.store(route, std::memory_order_release);
}

Status Ownership::OtherRoute() {
  return Status(Code::kMoved,
                "this shard owns other slots than the sender knows");
}

Status Ownership::Check(uint64_t route, Span<const int64_t> ids) const {
  const auto owned = this->owned();
  if (owned == nullptr) {
    if (route == 0) return Status();
    return Status(Code::kMoved,
                  "this shard belongs to no cluster: it was restarted without "
                  "its recovery folder");
  }
  for (const int64_t id : ids) {
    if (owned->slots[SlotOf(id)]) continue;
    return Status(Code::kMoved,
                  Concat("slot ", SlotOf(id), " belongs to another shard"));
  }
  return Status();
}

}  // namespace persia
