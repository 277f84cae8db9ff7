#include "cc/client/topology_call.h"

#include <memory>
#include <utility>

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

}  // namespace persia
