// Implements the Checkpoint and Files requests for a client of many shards.

#include <iterator>
#include <utility>

#include "cc/client/calls.h"

namespace persia {
namespace {

class CheckpointCall : public CallOf<CheckpointRequest> {
 public:
  using CallOf::CallOf;

 private:
  Status OnAllReplied() override {
    request_->shards.clear();
    for (CheckpointRequest& reply : replies_) {
      request_->shards.insert(request_->shards.end(),
                              std::make_move_iterator(reply.shards.begin()),
                              std::make_move_iterator(reply.shards.end()));
    }
    return Status();
  }
};

// Sends the request to shard 0 only, since every shard can reach the files.
class FilesCall : public CallOf<FilesRequest> {
 public:
  using CallOf::CallOf;

  void Start() { Send({0}); }

 private:
  Status OnAllReplied() override {
    request_->names = std::move(replies_[0].names);
    request_->contents = std::move(replies_[0].contents);
    return Status();
  }
};

}  // namespace

void StartCall(const CallContext& context, CheckpointRequest* request,
               DoneCallback done) {
  Begin<CheckpointCall>(context, request, std::move(done));
}

void StartCall(const CallContext& context, FilesRequest* request,
               DoneCallback done) {
  Begin<FilesCall>(context, request, std::move(done));
}

}  // namespace persia
