#include "cc/shard/ownership.h"

#include <utility>

namespace persia {

void Ownership::Recover(uint64_t member, SharedTopology topology) {
  member_ = member;
  if (topology != nullptr) Set(std::move(topology));
}

SharedTopology Ownership::topology() const {
  const auto owned = this->owned();
  return owned == nullptr ? nullptr : owned->topology;
}

std::shared_ptr<const Ownership::Owned> Ownership::owned() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return owned_;
}

Result<SharedTopology> Ownership::After(const TopologyRequest& request) const {
  const SharedTopology now = topology();
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

void Ownership::Set(SharedTopology topology) {
  auto owned = std::make_shared<Owned>();
  owned->slots = topology->SlotsOf(member_);
  const uint64_t route = topology->RouteOf(member_);
  owned->topology = std::move(topology);
  std::lock_guard<std::mutex> lock(mutex_);
  owned_ = std::move(owned);
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
