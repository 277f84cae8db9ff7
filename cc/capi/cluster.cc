#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "cc/base/text.h"
#include "cc/capi/control_options.h"
#include "cc/capi/error.h"
#include "cc/capi/persia_cluster.h"
#include "cc/client/cluster_admin.h"

using persia::ReportStatus;

struct persia_cluster {
  std::unique_ptr<persia::ClusterAdmin> admin;
};

struct persia_topology {
  persia::SharedTopology topology;
  std::set<uint64_t> answered;  // Empty unless persia_cluster_look made it.
};

static_assert(PERSIA_SLOTS == persia::kSlots, "the header says how many");

namespace persia {
namespace {

SlotSet SlotsOf(const uint8_t* marks) {
  SlotSet slots;
  if (marks == nullptr) return slots;
  for (uint32_t slot = 0; slot < kSlots; ++slot) slots[slot] = marks[slot] != 0;
  return slots;
}

}  // namespace
}  // namespace persia

int persia_cluster_open(const char* addresses, const char* auth_token,
                        const persia_tls* tls, double timeout_seconds,
                        persia_cluster** cluster) {
  auto options = persia::ControlOptionsOf(auth_token, tls, timeout_seconds);
  if (!options.ok()) return ReportStatus(options.status());
  *cluster = new persia_cluster{std::make_unique<persia::ClusterAdmin>(
      persia::SplitAtCommas(addresses), std::move(*options), timeout_seconds)};
  return ReportStatus(persia::Status());
}

void persia_cluster_free(persia_cluster* cluster) { delete cluster; }

int persia_cluster_fetch(persia_cluster* cluster, int all_must_answer,
                         persia_topology** topology) {
  auto fetched = cluster->admin->Fetch(all_must_answer != 0);
  if (!fetched.ok()) return ReportStatus(fetched.status());
  *topology = new persia_topology{std::move(*fetched), {}};
  return ReportStatus(persia::Status());
}

int persia_cluster_look(persia_cluster* cluster, const char* away,
                        persia_topology** topology) {
  auto look = cluster->admin->Look(persia::SplitAtCommas(away));
  if (!look.ok()) return ReportStatus(look.status());
  *topology = look->topology == nullptr
                  ? nullptr
                  : new persia_topology{std::move(look->topology),
                                        std::move(look->answered)};
  return ReportStatus(persia::Status());
}

int persia_cluster_join(persia_cluster* cluster, const char* address,
                        uint64_t* member) {
  const auto joined = cluster->admin->Join(address);
  if (!joined.ok()) return ReportStatus(joined.status());
  *member = *joined;
  return ReportStatus(persia::Status());
}

int persia_cluster_leave(persia_cluster* cluster, uint64_t member) {
  return ReportStatus(cluster->admin->Leave(member));
}

int persia_cluster_move(persia_cluster* cluster, persia_move* move) {
  persia::MoveRequest request;
  request.action = static_cast<persia::MoveAction>(move->action);
  request.source = move->source;
  request.slots = persia::SlotsOf(move->slots);
  request.most_bytes_per_second = move->most_bytes_per_second;
  const persia::Status status = cluster->admin->Move(move->taker, &request);
  if (!status.ok()) return ReportStatus(status);
  const persia::MoveProgress& progress = request.progress;
  move->state = static_cast<int>(progress.state);
  move->from = progress.source;
  move->slots_to_move = progress.slots;
  move->slots_moved = progress.moved;
  move->rows = progress.rows;
  move->bytes = progress.bytes;
  move->most_held_us = progress.most_held_us;
  move->error = ReportStatus(progress.outcome);
  return 0;
}

int persia_cluster_slot_loads(persia_cluster* cluster, uint64_t member,
                              uint64_t* ids, uint64_t* bytes) {
  persia::SlotLoadsRequest request;
  const persia::Status status = cluster->admin->SlotLoads(member, &request);
  if (!status.ok()) return ReportStatus(status);
  std::vector<persia::SlotLoad> loads(persia::kSlots);
  request.AddTo(&loads);
  for (uint32_t slot = 0; slot < persia::kSlots; ++slot) {
    ids[slot] = loads[slot].ids;
    bytes[slot] = loads[slot].bytes;
  }
  return ReportStatus(status);
}

int persia_cluster_promote(persia_cluster* cluster, const char* address,
                           int primary_is_gone) {
  return ReportStatus(cluster->admin->Promote(address, primary_is_gone != 0));
}

void persia_topology_free(persia_topology* topology) { delete topology; }

void persia_topology_get(const persia_topology* topology,
                         persia_topology_view* out) {
  out->cluster = topology->topology->cluster();
  out->epoch = topology->topology->epoch();
  out->members = static_cast<int>(topology->topology->members().size());
}

int persia_topology_member(const persia_topology* topology, int place,
                           persia_member* out) {
  const auto& members = topology->topology->members();
  if (place < 0 || static_cast<size_t>(place) >= members.size()) {
    return ReportStatus(
        persia::Status(persia::Code::kNotFound,
                       persia::Concat("this topology has no member ", place)));
  }
  const persia::Member& member = members[static_cast<size_t>(place)];
  out->id = member.id;
  out->number = member.number;
  out->has_left = member.has_left ? 1 : 0;
  out->address = member.address.c_str();
  out->standby = member.standby.c_str();
  out->answers = topology->answered.count(member.id) > 0 ? 1 : 0;
  return ReportStatus(persia::Status());
}

int persia_topology_owners(const persia_topology* topology, uint16_t* owners) {
  for (uint32_t slot = 0; slot < persia::kSlots; ++slot) {
    owners[slot] =
        static_cast<uint16_t>(topology->topology->owners()->OwnerOfSlot(slot));
  }
  return ReportStatus(persia::Status());
}
