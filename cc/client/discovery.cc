#include "cc/client/discovery.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/random_bytes.h"
#include "cc/client/replacement.h"
#include "cc/client/topology_call.h"

namespace persia {
namespace {

// How long servers are waited for that do not answer, while others tell of
// their cluster.
constexpr double kGraceSeconds = 1;

// What a listed server has answered.
struct Answer {
  bool is_there = false;
  Status error;
  uint64_t member = 0;  // 0: the server is no shard.
  std::vector<uint8_t> topology;
};

// Keeps itself alive until its end.
class Discovery : public std::enable_shared_from_this<Discovery> {
 public:
  Discovery(Members* members, bool founds, Deadline deadline, DoneCallback done)
      : members_(*members),
        view_(members->listed()),
        founds_(founds),
        deadline_(deadline),
        done_(std::move(done)),
        answers_(view_->size()) {}

  void Start() { AskAll(std::min(deadline_, DeadlineAfter(kGraceSeconds))); }

 private:
  using Next = std::function<void(const Status& status)>;

  // Asks all servers that have not answered yet.
  void AskAll(Deadline until) {
    std::vector<uint32_t> servers;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      is_decided_ = false;
      until_ = until;
      for (uint32_t i = 0; i < answers_.size(); ++i) {
        if (!answers_[i].is_there) servers.push_back(i);
      }
      waiting_ = servers.size();
    }
    for (const uint32_t server : servers) {
      TopologyRequest request;
      request.deadline = until;
      AskForTopology(
          view_, server, std::move(request),
          [self = shared_from_this(), server](const Status& status,
                                              const TopologyRequest& reply) {
            self->OnAnswer(server, status, reply);
          },
          began_);
    }
  }

  void OnAnswer(uint32_t server, const Status& status,
                const TopologyRequest& reply) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      if (is_decided_) return;
      Answer& answer = answers_[server];
      // A server that knows no such request is no shard of a cluster.
      const bool is_no_shard = status.code() == Code::kUnimplemented;
      answer.error = is_no_shard ? Status() : status;
      answer.is_there = answer.error.ok();
      answer.member = reply.member;
      answer.topology = reply.topology;
      is_decided_ = --waiting_ == 0;
      if (!is_decided_) return;
    }
    Decide();
  }

  void Decide() {
    const auto has_cluster = [](const Answer& each) {
      return !each.topology.empty();
    };
    // A client that knows its cluster founds no other one, even if all shards
    // were started anew.
    if (members_.topology() != nullptr ||
        std::any_of(answers_.begin(), answers_.end(), has_cluster)) {
      return Enter();
    }
    const auto failed =
        std::find_if(answers_.begin(), answers_.end(),
                     [](const Answer& each) { return !each.error.ok(); });
    if (failed != answers_.end()) {
      const bool is_final = until_ >= deadline_ || !IsOutage(failed->error);
      return is_final ? done_(failed->error) : AskAll(deadline_);
    }
    const auto is_shard = [](const Answer& each) { return each.member != 0; };
    if (std::none_of(answers_.begin(), answers_.end(), is_shard)) {
      members_.SettleAsNoShards();
      return done_(Status());
    }
    if (!founds_) return done_(Status());
    if (!std::all_of(answers_.begin(), answers_.end(), is_shard)) {
      return done_(InvalidArgument(
          "the addresses must be those of shards, or those of embedding "
          "workers, received some of both: ",
          Listed(is_shard), " are shards"));
    }
    Found();
  }

  template <typename Condition>
  std::string Listed(const Condition& condition) const {
    std::string text;
    for (size_t i = 0; i < answers_.size(); ++i) {
      if (!condition(answers_[i])) continue;
      if (!text.empty()) text += ", ";
      text += view_->channels[i]->address();
    }
    return text;
  }

  // Enters the cluster that some servers belong to.
  void Enter() {
    SetMembers();
    for (const Answer& answer : answers_) {
      if (answer.topology.empty()) continue;
      const Status learned = members_.Learn(answer.topology);
      if (learned.ok()) continue;
      if (members_.topology() == nullptr) return done_(learned);
      if (founds_) return done_(OfTwoClusters());
    }
    if (!founds_) return done_(Status());
    Join([self = shared_from_this()](const Status& status) {
      self->done_(status);
    });
  }

  void SetMembers() {
    for (size_t i = 0; i < answers_.size(); ++i) {
      if (answers_[i].member != 0) members_.SetMember(i, answers_[i].member);
    }
  }

  Status OfTwoClusters() const {
    const uint64_t cluster = members_.topology()->cluster();
    const auto is_other = [&](const Answer& each) {
      const auto topology = Topology::Decode(each.topology);
      return topology.ok() && topology->cluster() != cluster;
    };
    const auto is_ours = [&](const Answer& each) {
      return !each.topology.empty() && !is_other(each);
    };
    return Status(
        Code::kFailedPrecondition,
        Concat("the addresses are those of shards of several clusters: ",
               Listed(is_ours), " belong to one, and ", Listed(is_other),
               " to another, since the program that created their first table "
               "listed them so: list the shards of one cluster"));
  }

  void Found() {
    SetMembers();
    const auto cluster = RandomNonZero();
    if (!cluster.ok()) return done_(cluster.status());
    std::vector<Member> members;
    for (uint32_t i = 0; i < answers_.size(); ++i) {
      const uint64_t id = answers_[i].member;
      const auto is_same = [&](const Answer& each) {
        return each.member == id;
      };
      if (std::count_if(answers_.begin(), answers_.end(), is_same) > 1) {
        return done_(InvalidArgument("the shards' addresses must differ, but ",
                                     Listed(is_same), " are the same shard"));
      }
      members.push_back({id, i, 1, false, view_->channels[i]->address()});
    }
    auto topology = Topology::Found(*cluster, std::move(members));
    if (!topology.ok()) return done_(topology.status());
    const auto first = std::min_element(
        answers_.begin(), answers_.end(),
        [](const Answer& a, const Answer& b) { return a.member < b.member; });
    Tell(static_cast<uint32_t>(first - answers_.begin()), *topology,
         /*founds=*/true, [self = shared_from_this()](const Status& status) {
           if (!status.ok()) return self->done_(status);
           self->Join([self](const Status& joined) { self->done_(joined); });
         });
  }

  // Sends a topology to a server, and learns that of the server.
  void Tell(uint32_t server, const Topology& topology, bool founds, Next next) {
    TopologyRequest request;
    request.deadline = deadline_;
    request.told = topology.Encode();
    request.founds = founds;
    AskForTopology(
        view_, server, std::move(request),
        [self = shared_from_this(), next = std::move(next)](
            const Status& status, const TopologyRequest& reply) {
          if (!status.ok()) return next(status);
          if (reply.topology.empty()) {
            return next(Status(Code::kUnavailable,
                               "a shard was restarted while its cluster began: "
                               "try again"));
          }
          next(self->members_.Learn(reply.topology));
        },
        began_);
  }

  // Makes all servers that answered members of the client's cluster, one by
  // one.
  void Join(const Next& next, uint32_t server = 0) {
    const SharedTopology topology = members_.topology();
    while (server < answers_.size() &&
           (!answers_[server].is_there || IsMember(server, *topology))) {
      ++server;
    }
    if (server == answers_.size()) return next(Status());
    const auto then = [self = shared_from_this(), next,
                       server](const Status& status) {
      if (!status.ok()) return next(status);
      self->Join(next, server + 1);
    };
    const uint64_t id = answers_[server].member;
    const std::string address = view_->channels[server]->address();
    if (const Member* member = topology->Find(id)) {
      if (!member->has_left) return Tell(server, *topology, false, then);
    }
    for (const Member& member : topology->members()) {
      if (member.has_left || member.address != address) continue;
      return Replace(&members_, member.id, id, view_->channels[server],
                     deadline_, then);
    }
    // A shard that has left the cluster may still be listed.
    if (!answers_[server].topology.empty()) return then(Status());
    next(Status(
        Code::kFailedPrecondition,
        Concat(
            address,
            " is a shard of no cluster, but the cluster that was listed with "
            "it has tables already: leave it out, and list the shards that "
            "the cluster has: ",
            AddressesOf(*topology))));
  }

  // Whether a server that answered is a member, and knows it.
  bool IsMember(uint32_t server, const Topology& topology) const {
    const Member* const member = topology.Find(answers_[server].member);
    return !answers_[server].topology.empty() && member != nullptr &&
           !member->has_left;
  }

  static std::string AddressesOf(const Topology& topology) {
    std::string text;
    for (const Member& member : topology.members()) {
      if (member.has_left) continue;
      if (!text.empty()) text += ",";
      text += member.address;
    }
    return text;
  }

  Members& members_;
  const SharedView view_;
  const bool founds_;
  const Deadline deadline_;
  const DoneCallback done_;
  const Clock::time_point began_ = Clock::now();

  std::mutex mutex_;
  // Everything below is guarded by mutex_ until is_decided_.
  bool is_decided_ = false;
  Deadline until_;
  size_t waiting_ = 0;
  std::vector<Answer> answers_;  // Indexed by listed server.
};

}  // namespace

void Discover(Members* members, bool founds, Deadline deadline,
              DoneCallback done) {
  std::make_shared<Discovery>(members, founds, deadline, std::move(done))
      ->Start();
}

}  // namespace persia
