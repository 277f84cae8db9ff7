// Implements Assign and Remove for a client of many shards.

#include <utility>

#include "cc/client/calls.h"
#include "cc/client/row_split.h"
#include "cc/service/assign_check.h"

namespace persia {
namespace {

class AssignCall : public CallOf<AssignRequest> {
 public:
  AssignCall(const CallContext& context, AssignRequest* request,
             DoneCallback done)
      : CallOf(context, request, std::move(done)),
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
        {Partition::Split(request_->ids)}, shard_count()));
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
    if (shard_count() == 1) return EncodeRequest(request_id, *request_);
    AssignRequest part = *request_;
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

  const RowScratchPool::Lent scratch_;
  Span<float> free_floats_;  // The unused part of scratch_->buffer.
};

class RemoveCall : public CallOf<RemoveRequest> {
 public:
  RemoveCall(const CallContext& context, RemoveRequest* request,
             DoneCallback done)
      : CallOf(context, request, std::move(done)),
        scratch_(context.pool->Lend()) {}

  void Start() {
    const Status status = scratch_->partition.Build(
        {Partition::Split(request_->ids)}, shard_count());
    if (!status.ok()) return Fail(status);
    Send(ShardsWithWork(scratch_->partition));
  }

 private:
  OutFrame Encode(uint32_t shard, uint64_t request_id) override {
    RemoveRequest part;
    part.table = request_->table;
    part.ids = scratch_->partition.ids(0, shard);
    return EncodeRequest(request_id, part);
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
