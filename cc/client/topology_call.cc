#include "cc/client/topology_call.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cc/client/fan_out.h"
#include "cc/wire/messages.h"

namespace persia {
namespace {

class TopologyCall : public FanOut {
 public:
  TopologyCall(SharedView view, TopologyRequest request, TopologyDone done,
               Clock::time_point asked_at)
      : FanOut(
            std::move(view), kReplyType<TopologyRequest>, request.deadline,
            [this](const Status& status) { done_(status, reply_); }, asked_at),
        request_(std::move(request)),
        done_(std::move(done)) {}

  void Start(uint32_t server) { Send({server}); }

 private:
  OutFrame Encode(uint32_t /*server*/, uint64_t request_id) override {
    return EncodeRequest(request_id, request_);
  }

  Status OnReply(uint32_t /*server*/, ConstBytes body) override {
    return DecodeReply(body, &reply_);
  }

  const TopologyRequest request_;
  TopologyRequest reply_;  // Only its outputs are set.
  const TopologyDone done_;
};

}  // namespace

void AskForTopology(const SharedView& view, uint32_t server,
                    TopologyRequest request, TopologyDone done,
                    Clock::time_point asked_at) {
  std::make_shared<TopologyCall>(view, std::move(request), std::move(done),
                                 asked_at)
      ->Start(server);
}

namespace {

// Asks the servers of a view, and is done once all have answered that are
// members still: a shard that has left the cluster may no longer run.
class RefreshCall : public std::enable_shared_from_this<RefreshCall> {
 public:
  RefreshCall(Members* members, std::function<void()> done)
      : members_(members),
        view_(members->view()),
        done_(std::move(done)),
        answered_(view_->size()) {}

  void Start(Deadline deadline) {
    for (uint32_t server = 0; server < view_->size(); ++server) {
      TopologyRequest request;
      request.deadline = deadline;
      if (const auto topology = members_->topology()) {
        request.told = topology->Encode();
      }
      AskForTopology(view_, server, std::move(request),
                     [self = shared_from_this(), server](
                         const Status& status, const TopologyRequest& reply) {
                       self->OnAnswer(server, status, reply);
                     });
    }
  }

 private:
  void OnAnswer(uint32_t server, const Status& status,
                const TopologyRequest& reply) {
    if (status.ok() && !reply.topology.empty()) {
      (void)members_->Learn(reply.topology);
    }
    {
      std::lock_guard<std::mutex> lock(mutex_);
      answered_[server] = true;
      if (is_done_ || IsAnyLeft()) return;
      is_done_ = true;
    }
    done_();
  }

  bool IsAnyLeft() const {
    const std::vector<uint64_t>& present = members_->view()->members;
    for (uint32_t server = 0; server < view_->size(); ++server) {
      const uint64_t member = view_->members[server];
      const bool is_present =
          member == 0 ||
          std::find(present.begin(), present.end(), member) != present.end();
      if (is_present && !answered_[server]) return true;
    }
    return false;
  }

  Members* const members_;
  const SharedView view_;
  const std::function<void()> done_;
  std::mutex mutex_;
  std::vector<bool> answered_;  // Guarded by mutex_, by server.
  bool is_done_ = false;        // Guarded by mutex_.
};

}  // namespace

void Refresh(Members* members, Deadline deadline, std::function<void()> done) {
  std::make_shared<RefreshCall>(members, std::move(done))->Start(deadline);
}

}  // namespace persia
