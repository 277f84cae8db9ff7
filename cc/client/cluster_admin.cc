#include "cc/client/cluster_admin.h"

#include <algorithm>
#include <future>
#include <set>
#include <utility>

#include "cc/service/await.h"
#include "cc/service/await_topology.h"

namespace persia {
namespace {

RemoteServiceOptions OfOneShard(RemoteServiceOptions options) {
  options.finds_cluster = false;
  return options;
}

uint32_t NextNumber(const Topology& topology) {
  uint32_t next = 0;
  for (const Member& member : topology.members()) {
    if (!member.has_left) next = std::max(next, member.number + 1);
  }
  return next;
}

}  // namespace

ClusterAdmin::ClusterAdmin(std::vector<std::string> addresses,
                           RemoteServiceOptions options, double timeout_seconds)
    : addresses_(std::move(addresses)),
      options_(OfOneShard(std::move(options))),
      timeout_seconds_(timeout_seconds) {}

Result<SharedTopology> ClusterAdmin::Fetch(bool all_must_answer) {
  std::lock_guard<std::mutex> lock(mutex_);
  Status error;
  for (const std::string& address : addresses_) {
    const auto reply = Exchange(address);
    if (!reply.ok()) error = reply.status();
    if (!reply.ok() && all_must_answer) return error;
  }
  if (topology_ == nullptr) {
    if (!error.ok()) return error;
    return Status(Code::kFailedPrecondition,
                  "the shards belong to no cluster yet: the first program that "
                  "creates a table makes those that it lists a cluster");
  }
  PERSIA_RETURN_IF_ERROR(TellAll(all_must_answer));
  return topology_;
}

Result<ClusterLook> ClusterAdmin::Look(const std::vector<std::string>& away) {
  std::lock_guard<std::mutex> lock(mutex_);
  ClusterLook look;
  Status error;
  std::set<std::string> asked(away.begin(), away.end());
  std::vector<std::string> addresses = addresses_;
  while (!addresses.empty()) {
    for (const auto& reply : AskAll(addresses)) {
      if (!reply.ok()) {
        error = reply.status();
        continue;
      }
      look.answered.insert(reply->member);
      if (reply->topology.empty()) continue;
      PERSIA_RETURN_IF_ERROR(Learn(reply->topology));
    }
    asked.insert(addresses.begin(), addresses.end());
    addresses.clear();
    if (topology_ == nullptr) break;
    for (const Member& member : topology_->members()) {
      if (member.has_left || asked.count(member.address) > 0) continue;
      addresses.push_back(member.address);
    }
  }
  if (look.answered.empty()) return error;
  look.topology = topology_;
  return look;
}

// Tells all members of the topology, and learns what they know, until all know
// the same.
Status ClusterAdmin::TellAll(bool all_must_answer) {
  uint64_t told = 0;
  while (told != topology_->fingerprint()) {
    const SharedTopology topology = topology_;
    told = topology->fingerprint();
    for (const Member& member : topology->members()) {
      if (member.has_left) continue;
      const auto reply = Exchange(member.address);
      if (!reply.ok() && all_must_answer) return reply.status();
    }
  }
  return Status();
}

Result<uint64_t> ClusterAdmin::Join(const std::string& address) {
  // A member that is at `address` now does not answer where it was.
  const auto fetched = Fetch(/*all_must_answer=*/false);
  if (!fetched.ok()) return fetched.status();
  std::lock_guard<std::mutex> lock(mutex_);
  const auto reply = Exchange(address);
  if (!reply.ok()) return reply.status();
  if (reply->member == 0) {
    return InvalidArgument(address, " must be a shard, but it is none");
  }
  const Member* const former = topology_->Find(reply->member);
  Member member;
  if (former != nullptr) member = *former;
  const bool is_member = former != nullptr && !former->has_left;
  if (is_member && member.address == address) return reply->member;
  if (!is_member) member.number = NextNumber(*topology_);
  member.id = reply->member;
  ++member.version;
  member.has_left = false;
  member.address = address;
  topology_ = std::make_shared<const Topology>(topology_->WithMember(member));
  // The new member learns of it first: whoever hears of a member can reach it.
  const auto joined = Exchange(address);
  if (!joined.ok()) return joined.status();
  PERSIA_RETURN_IF_ERROR(TellAll(/*all_must_answer=*/true));
  return reply->member;
}

Status ClusterAdmin::Leave(uint64_t id) {
  const auto fetched = Fetch(/*all_must_answer=*/true);
  if (!fetched.ok()) return fetched.status();
  std::lock_guard<std::mutex> lock(mutex_);
  const auto found = MemberOf(id);
  if (!found.ok()) return found.status();
  Member member = **found;
  if (member.has_left) return Status();
  if (topology_->SlotsOf(id).any()) {
    return Status(
        Code::kFailedPrecondition,
        Concat(member.address, " still owns ", topology_->SlotsOf(id).count(),
               " slots: move them to other shards first"));
  }
  member.has_left = true;
  ++member.version;
  topology_ = std::make_shared<const Topology>(topology_->WithMember(member));
  PERSIA_RETURN_IF_ERROR(TellAll(/*all_must_answer=*/true));
  // The shard itself is told last. If it does not answer, it is gone already.
  (void)Exchange(member.address);
  return Status();
}

Status ClusterAdmin::Move(uint64_t taker, MoveRequest* request) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (request->action == MoveAction::kStart) {
    const auto source = MemberOf(request->source);
    if (!source.ok()) return source.status();
    request->address = (*source)->address;
  }
  const auto service = ServiceOfMember(taker);
  if (!service.ok()) return service.status();
  request->deadline = DeadlineAfter(timeout_seconds_);
  return Await(
      [&](DoneCallback done) { (*service)->Move(request, std::move(done)); });
}

Status ClusterAdmin::SlotLoads(uint64_t member, SlotLoadsRequest* request) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto service = ServiceOfMember(member);
  if (!service.ok()) return service.status();
  request->deadline = DeadlineAfter(timeout_seconds_);
  return Await([&](DoneCallback done) {
    (*service)->SlotLoads(request, std::move(done));
  });
}

Status ClusterAdmin::Promote(const std::string& address, bool primary_is_gone) {
  std::lock_guard<std::mutex> lock(mutex_);
  const auto service = ServiceOf(address);
  if (!service.ok()) return service.status();
  StandbyRequest request;
  request.deadline = DeadlineAfter(timeout_seconds_);
  request.action = StandbyAction::kPromote;
  request.primary_is_gone = primary_is_gone;
  return Await([&](DoneCallback done) {
    (*service)->Standby(&request, std::move(done));
  });
}

Result<const Member*> ClusterAdmin::MemberOf(uint64_t id) const {
  const Member* const member =
      topology_ == nullptr ? nullptr : topology_->Find(id);
  if (member != nullptr) return member;
  return InvalidArgument("the cluster has no shard with the id ", id);
}

Result<EmbeddingService*> ClusterAdmin::ServiceOfMember(uint64_t id) {
  const auto member = MemberOf(id);
  if (!member.ok()) return member.status();
  return ServiceOf((*member)->address);
}

Result<EmbeddingService*> ClusterAdmin::ServiceOf(const std::string& address) {
  auto& service = services_[address];
  if (service == nullptr) {
    auto made = MakeRemoteService({address}, options_);
    if (!made.ok()) return made.status();
    service = std::move(*made);
  }
  return service.get();
}

// Tells a shard what is known, and learns what it knows.
Result<TopologyRequest> ClusterAdmin::Exchange(const std::string& address) {
  const auto service = ServiceOf(address);
  if (!service.ok()) return service.status();
  TopologyRequest request;
  if (topology_ != nullptr) request.told = topology_->Encode();
  const Status status = AwaitTopology(*service, timeout_seconds_, &request);
  if (!status.ok()) {
    return Status(status.code(), Concat(address, ": ", status.message()));
  }
  if (!request.topology.empty()) {
    PERSIA_RETURN_IF_ERROR(Learn(request.topology));
  }
  return request;
}

// Asks shards at once what they know, and tells them nothing.
std::vector<Result<TopologyRequest>> ClusterAdmin::AskAll(
    const std::vector<std::string>& addresses) {
  std::vector<TopologyRequest> requests(addresses.size());
  std::vector<std::promise<Status>> outcomes(addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i) {
    const auto service = ServiceOf(addresses[i]);
    if (!service.ok()) {
      outcomes[i].set_value(service.status());
      continue;
    }
    requests[i].deadline = DeadlineAfter(timeout_seconds_);
    (*service)->ExchangeTopology(&requests[i],
                                 [&outcome = outcomes[i]](Status status) {
                                   outcome.set_value(std::move(status));
                                 });
  }
  std::vector<Result<TopologyRequest>> replies;
  for (size_t i = 0; i < addresses.size(); ++i) {
    const Status status = outcomes[i].get_future().get();
    if (status.ok()) {
      replies.emplace_back(std::move(requests[i]));
    } else {
      replies.emplace_back(status);
    }
  }
  return replies;
}

Status ClusterAdmin::Learn(const std::vector<uint8_t>& bytes) {
  auto told = Topology::Decode(bytes);
  if (!told.ok()) return told.status();
  if (topology_ != nullptr) told = topology_->Merged(*told);
  if (!told.ok()) return told.status();
  topology_ = std::make_shared<const Topology>(std::move(*told));
  return Status();
}

}  // namespace persia
