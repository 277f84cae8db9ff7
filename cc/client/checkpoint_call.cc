#include "cc/client/checkpoint_call.h"

#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "cc/wire/messages.h"

namespace persia {
namespace {

bool IsOfEveryShard(CheckpointAction action) {
  return action <= CheckpointAction::kCommit;
}

class CheckpointCall : public FanOut {
 public:
  CheckpointCall(const Channels* channels, CheckpointRequest* request,
                 DoneCallback done)
      : FanOut(channels, request->deadline, std::move(done)),
        request_(request),
        replies_(shard_count()) {}

  void Start() {
    if (IsOfEveryShard(request_->action)) {
      return AskAll(MessageType::kCheckpointReply);
    }
    Ask({0}, MessageType::kCheckpointReply, /*retry_unavailable=*/false);
  }

 private:
  OutFrame Encode(uint32_t shard, uint64_t request_id) override {
    return EncodeCheckpoint(request_id, shard, shard_count(), *request_);
  }

  Status OnReply(uint32_t shard, ConstBytes body) override {
    return DecodeCheckpointReply(body, &replies_[shard]);
  }

  Status OnAllReplied() override {
    request_->shards.clear();
    for (CheckpointRequest& reply : replies_) {
      request_->shards.insert(request_->shards.end(),
                              std::make_move_iterator(reply.shards.begin()),
                              std::make_move_iterator(reply.shards.end()));
    }
    request_->names = std::move(replies_[0].names);
    if (request_->action == CheckpointAction::kReadFile) {
      request_->contents = std::move(replies_[0].contents);
    }
    return Status();
  }

  CheckpointRequest* const request_;
  std::vector<CheckpointRequest> replies_;  // By shard; only outputs are set.
};

}  // namespace

void StartCheckpoint(const Channels* channels, CheckpointRequest* request,
                     DoneCallback done) {
  std::make_shared<CheckpointCall>(channels, request, std::move(done))->Start();
}

}  // namespace persia
