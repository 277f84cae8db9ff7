#include "cc/client/replacement.h"

#include <memory>
#include <utility>
#include <vector>

#include "cc/client/done_after.h"
#include "cc/client/topology_call.h"

namespace persia {
namespace {

// Keeps itself alive until `done` is called.
class Replacement : public std::enable_shared_from_this<Replacement> {
 public:
  Replacement(Members* members, uint64_t lost, uint64_t replacement,
              Channel* channel, Deadline deadline, DoneCallback done)
      : members_(*members),
        lost_(lost),
        replacement_(replacement),
        channel_(channel),
        deadline_(deadline),
        done_(std::move(done)),
        view_(members->view()) {}

  void Start() {
    std::vector<uint32_t> others;
    for (uint32_t i = 0; i < view_->size(); ++i) {
      if (view_->members[i] != lost_) others.push_back(i);
    }
    Tell(others, {}, [this](const Status& status) {
      status.ok() ? Decide() : done_(status);
    });
  }

 private:
  // Sends a topology, or nothing, to servers of the view, and learns what they
  // know.
  void Tell(const std::vector<uint32_t>& servers,
            const std::vector<uint8_t>& told, const DoneCallback& next) {
    if (servers.empty()) return next(Status());
    const DoneCallback told_one = DoneAfter(servers.size(), next);
    for (const uint32_t server : servers) {
      TopologyRequest request;
      request.deadline = deadline_;
      request.told = told;
      AskForTopology(
          view_, server, std::move(request),
          [self = shared_from_this(), told_one](const Status& status,
                                                const TopologyRequest& reply) {
            const bool is_news = status.ok() && !reply.topology.empty();
            told_one(is_news ? self->members_.Learn(reply.topology) : status);
          });
    }
  }

  void Decide() {
    const SharedTopology topology = members_.topology();
    const Member* const lost = topology->Find(lost_);
    if (lost == nullptr || lost->has_left) return done_(Status());
    // Its standby has the rows: requests wait until that takes its place.
    if (!lost->standby.empty()) return done_(Status());
    Member gone = *lost;
    const Member* const former = topology->Find(replacement_);
    Member fresh;
    if (former != nullptr) fresh = *former;
    fresh.id = replacement_;
    fresh.number = gone.number;
    ++fresh.version;
    fresh.has_left = false;
    fresh.address = channel_->address();
    gone.has_left = true;
    ++gone.version;
    const Topology after =
        topology->WithMember(fresh)
            .WithOwner(topology->SlotsOf(lost_), replacement_)
            .WithMember(gone);
    members_.Relabel(channel_, replacement_);
    std::vector<uint32_t> all;
    for (uint32_t i = 0; i < view_->size(); ++i) all.push_back(i);
    Tell(all, after.Encode(), [this](const Status& status) { done_(status); });
  }

  Members& members_;
  const uint64_t lost_;
  const uint64_t replacement_;
  Channel* const channel_;
  const Deadline deadline_;
  const DoneCallback done_;
  const SharedView view_;
};

}  // namespace

void Replace(Members* members, uint64_t lost, uint64_t replacement,
             Channel* channel, Deadline deadline, DoneCallback done) {
  std::make_shared<Replacement>(members, lost, replacement, channel, deadline,
                                std::move(done))
      ->Start();
}

}  // namespace persia
