// Implements Assign and Remove for a client of many shards.

#include <memory>
#include <utility>
#include <vector>

#include "cc/client/calls.h"
#include "cc/client/row_split.h"
#include "cc/client/send_anew.h"
#include "cc/service/assign_check.h"

namespace persia {
namespace {

class AssignCall : public SentAnewByParts<CallOf<AssignRequest>> {
 public:
  AssignCall(const CallContext& context, AssignRequest* request,
             DoneCallback done)
      : SentAnewByParts(context, request->deadline, context, request,
                        std::move(done)),
        scratch_(context.pool->Lend()) {}

  void Start() {
    const Status status = Prepare();
    if (!status.ok()) return Fail(status);
    Send(ShardsWithWork(scratch_->partition));
  }

 private:
  Status Prepare() {
    PERSIA_RETURN_IF_ERROR(CheckAssignSizes(*request_));
    PERSIA_RETURN_IF_ERROR(scratch_->partition.Build(
        {Partition::Split(request_->ids)}, *view().owners));
    if (shard_count() == 1) return Status();
    const size_t floats = request_->weights.size() + request_->state.size();
    if (!scratch_->buffer.Resize(floats * sizeof(float))) {
      return Status(Code::kResourceExhausted,
                    Concat("no memory to split ", floats, " floats of rows"));
    }
    free_floats_ = scratch_->buffer.As<float>(floats);
    return Status();
  }

  OutFrame Encode(uint32_t shard, uint64_t request_id) override {
    AssignRequest part = *request_;
    part.route = view().routes[shard];
    if (shard_count() == 1) return EncodeRequest(request_id, part);
    part.ids = scratch_->partition.ids(0, shard);
    part.weights = Share(shard, request_->dim, request_->weights);
    part.state = Share(shard, request_->state_size, request_->state);
    return EncodeRequest(request_id, part);
  }

  // Copies the shard's share of `all` into a contiguous array.
  Span<const float> Share(uint32_t shard, size_t width, Span<const float> all) {
    const Partition& partition = scratch_->partition;
    const Span<float> share =
        free_floats_.first(partition.ids(0, shard).size() * width);
    free_floats_ = free_floats_.subspan(share.size());
    partition.Gather(0, shard, width, all.data(), share.data());
    return share;
  }

  // A shard's part, as a request of its own.
  struct Part {
    AssignRequest request;
    std::vector<float> weights;
    std::vector<float> state;
  };

  void SendPart(uint32_t shard, DoneCallback done) override {
    const Partition& partition = scratch_->partition;
    auto part = std::make_shared<Part>();
    part->request = *request_;
    part->request.ids = partition.ids(0, shard);
    const size_t count = part->request.ids.size();
    part->weights.resize(count * request_->dim);
    part->state.resize(count * request_->state_size);
    partition.Gather(0, shard, request_->dim, request_->weights.data(),
                     part->weights.data());
    partition.Gather(0, shard, request_->state_size, request_->state.data(),
                     part->state.data());
    part->request.weights = part->weights;
    part->request.state = part->state;
    context_.service->Assign(
        &part->request,
        [self = shared_from_this(), part,
         done = std::move(done)](const Status& status) { done(status); });
  }

  const RowScratchPool::Lent scratch_;
  Span<float> free_floats_;  // The unused part of scratch_->buffer.
};

class RemoveCall : public SentAnewByParts<CallOf<RemoveRequest>> {
 public:
  RemoveCall(const CallContext& context, RemoveRequest* request,
             DoneCallback done)
      : SentAnewByParts(context, request->deadline, context, request,
                        std::move(done)),
        scratch_(context.pool->Lend()) {}

  void Start() {
    const Status status = scratch_->partition.Build(
        {Partition::Split(request_->ids)}, *view().owners);
    if (!status.ok()) return Fail(status);
    Send(ShardsWithWork(scratch_->partition));
  }

 private:
  OutFrame Encode(uint32_t shard, uint64_t request_id) override {
    RemoveRequest part;
    part.table = request_->table;
    part.route = view().routes[shard];
    part.ids = scratch_->partition.ids(0, shard);
    return EncodeRequest(request_id, part);
  }

  // Sends a shard's part as a request of its own.
  void SendPart(uint32_t shard, DoneCallback done) override {
    auto part = std::make_shared<RemoveRequest>();
    part->deadline = request_->deadline;
    part->table = request_->table;
    part->ids = scratch_->partition.ids(0, shard);
    context_.service->Remove(part.get(),
                             [self = shared_from_this(), this, part, shard,
                              done = std::move(done)](const Status& status) {
                               replies_[shard].removed = part->removed;
                               done(status);
                             });
  }

  Status OnAllReplied() override {
    request_->removed = 0;
    for (const RemoveRequest& reply : replies_) {
      request_->removed += reply.removed;
    }
    return Status();
  }

  const RowScratchPool::Lent scratch_;
};

}  // namespace

void StartCall(const CallContext& context, AssignRequest* request,
               DoneCallback done) {
  Begin<AssignCall>(context, request, std::move(done));
}

void StartCall(const CallContext& context, RemoveRequest* request,
               DoneCallback done) {
  Begin<RemoveCall>(context, request, std::move(done));
}

}  // namespace persia
