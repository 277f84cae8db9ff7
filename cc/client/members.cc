#include "cc/client/members.h"

#include <algorithm>
#include <utility>

namespace persia {
namespace {

std::string Title(size_t number, size_t count) {
  return Concat("shard ", number, " of ", count);
}

// The number of each member of a topology in a view, which leaves out those
// that have left.
std::vector<uint16_t> NumbersInView(const std::vector<Member>& members) {
  std::vector<uint16_t> numbers;
  uint16_t next = 0;
  for (const Member& member : members) {
    numbers.push_back(next);
    if (!member.has_left) ++next;
  }
  // An owner never leaves. If a topology says so nevertheless, any server
  // answers that it is not the owner.
  for (uint16_t& number : numbers) {
    number = std::min<uint16_t>(number, next > 0 ? next - 1 : 0);
  }
  return numbers;
}

}  // namespace

Members::Members(const std::vector<Address>& listed, MakeServerChannel make)
    : make_(std::move(make)) {
  auto view = std::make_shared<ClusterView>();
  for (size_t i = 0; i < listed.size(); ++i) {
    auto server = std::make_unique<Server>();
    server->channel = make_(listed[i], Title(i, listed.size()));
    server->listed_address = listed[i].ToString();
    server->names = {server->listed_address};
    view->channels.push_back(server->channel.get());
    view->members.push_back(0);
    view->routes.push_back(0);
    view->part_keys.push_back(listed.size() == 1 ? 0 : i + 1);
    servers_.push_back(std::move(server));
  }
  view->owners = SlotOwners::Even(view->size());
  listed_ = view_ = std::move(view);
}

SharedView Members::view() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return view_;
}

bool Members::is_settled() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return is_settled_;
}

void Members::SettleAsNoShards() {
  std::lock_guard<std::mutex> lock(mutex_);
  is_settled_ = true;
}

void Members::Fix() {
  std::lock_guard<std::mutex> lock(mutex_);
  is_settled_ = is_fixed_ = true;
}

void Members::SetMember(size_t listed, uint64_t member) {
  std::lock_guard<std::mutex> lock(mutex_);
  servers_[listed]->member = member;
}

SharedTopology Members::topology() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return topology_;
}

Status Members::Learn(ConstBytes bytes) {
  const auto topology = Topology::Decode(bytes);
  return topology.ok() ? Learn(*topology) : topology.status();
}

Status Members::Learn(const Topology& topology) {
  std::lock_guard<std::mutex> lock(mutex_);
  if (is_fixed_) return Status();
  SharedTopology learned;
  if (topology_ == nullptr) {
    learned = std::make_shared<const Topology>(topology);
  } else {
    auto merged = topology_->Merged(topology);
    if (!merged.ok()) return merged.status();
    if (merged->fingerprint() == topology_->fingerprint()) return Status();
    learned = std::make_shared<const Topology>(std::move(*merged));
  }
  PERSIA_RETURN_IF_ERROR(MakeView(*learned));
  topology_ = std::move(learned);
  is_settled_ = true;
  return Status();
}

Status Members::MakeView(const Topology& topology) {
  const std::vector<Member>& members = topology.members();
  const auto count = static_cast<size_t>(
      std::count_if(members.begin(), members.end(),
                    [](const Member& member) { return !member.has_left; }));
  auto view = std::make_shared<ClusterView>();
  for (const Member& member : members) {
    if (member.has_left) continue;
    const Result<Server*> server =
        ServerOf(member, Title(view->channels.size(), count));
    if (!server.ok()) return server.status();
    view->channels.push_back((*server)->channel.get());
    view->members.push_back(member.id);
    view->routes.push_back(topology.RouteOf(member.id));
    view->part_keys.push_back(0);
  }
  if (view->channels.empty()) {
    return Status(Code::kFailedPrecondition,
                  "all shards have left the cluster");
  }
  const std::vector<uint16_t> numbers = NumbersInView(members);
  std::vector<uint16_t> owners(kSlots);
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    owners[slot] = numbers[topology.owners()->OwnerOfSlot(slot)];
  }
  view->owners =
      std::make_shared<const SlotOwners>(view->size(), std::move(owners));
  view_ = std::move(view);
  return Status();
}

// Returns the server that is this member, and makes one if there is none.
Result<Members::Server*> Members::ServerOf(const Member& member,
                                           const std::string& title) {
  const auto find = [&](const auto& condition) -> Server* {
    const auto found =
        std::find_if(servers_.begin(), servers_.end(),
                     [&](const auto& server) { return condition(*server); });
    return found == servers_.end() ? nullptr : found->get();
  };
  Server* server =
      find([&](const Server& each) { return each.member == member.id; });
  if (server == nullptr) {
    server = find([&](const Server& each) {
      return each.member == 0 && each.listed_address == member.address;
    });
  }
  const Result<Address> address = Resolve(member.address);
  if (!address.ok()) return address.status();
  if (server == nullptr) {
    servers_.push_back(std::make_unique<Server>());
    server = servers_.back().get();
    server->channel = make_(*address, title);
    if (is_shut_down_) server->channel->ShutDown();
  } else if (server->version != 0 && server->member_address != member.address) {
    server->channel->Move(*address);
  }
  server->channel->SetStandby(member.standby);
  // Another process is elsewhere.
  if (server->version == 0 || server->incarnation != member.incarnation) {
    server->names.clear();
  }
  server->incarnation = member.incarnation;
  AddNames(member.address, *address, &server->names);
  server->member = member.id;
  server->version = member.version;
  server->member_address = member.address;
  server->channel->Rename(title);
  return server;
}

// Adds the name of a server that is at `address`, and other names of it.
void Members::AddNames(const std::string& name, const Address& address,
                       std::set<std::string>* names) const {
  names->insert(name);
  names->insert(address.ToString());
  for (const auto& [known_as, now_at] : moved_) {
    if (now_at.ToString() == address.ToString()) names->insert(known_as);
  }
}

Result<Address> Members::Resolve(const std::string& address) const {
  const auto moved = moved_.find(address);
  return moved == moved_.end() ? Address::Parse(address) : moved->second;
}

void Members::Relabel(const Channel* channel, uint64_t member) {
  std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& each : servers_) {
    if (each->channel.get() != channel) continue;
    each->member = member;
    each->version = 0;
    each->names = {each->listed_address};
  }
}

Status Members::Move(uint32_t listed, const std::string& address) {
  if (listed >= listed_->size()) {
    return InvalidArgument("shard must be below ", listed_->size(),
                           ", the number of shards, received ", listed);
  }
  const Result<Address> parsed = Address::Parse(address);
  if (!parsed.ok()) return parsed.status();
  std::lock_guard<std::mutex> lock(mutex_);
  servers_[listed]->names.insert(address);
  listed_->channels[listed]->Move(*parsed);
  return Status();
}

Status Members::MoveAddress(const std::string& from, const std::string& to) {
  const Result<Address> parsed = Address::Parse(to);
  if (!parsed.ok()) return parsed.status();
  std::lock_guard<std::mutex> lock(mutex_);
  moved_.insert_or_assign(from, *parsed);
  moved_.erase(to);  // A server that is known by `to` from now on is there.
  const auto is_known_as = [&](const std::unique_ptr<Server>& server) {
    return (server->version != 0 ? server->member_address
                                 : server->listed_address) == from;
  };
  const bool any_is =
      std::any_of(servers_.begin(), servers_.end(), is_known_as);
  for (const auto& server : servers_) {
    std::set<std::string>& names = server->names;
    if (any_is ? !is_known_as(server) : names.count(from) == 0) {
      names.erase(to);  // It is there no more.
      continue;
    }
    server->channel->Move(*parsed);
    for (const std::string& name : names)
      moved_.insert_or_assign(name, *parsed);
    moved_.erase(to);
    names.insert(to);
  }
  return Status();
}

void Members::ShutDown() {
  std::lock_guard<std::mutex> lock(mutex_);
  is_shut_down_ = true;
  for (const auto& server : servers_) server->channel->ShutDown();
}

}  // namespace persia
