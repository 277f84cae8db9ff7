#include "cc/client/whole_row_calls.h"

#include <new>
#include <utility>
#include <vector>

#include "cc/client/control_calls.h"
#include "cc/client/row_split.h"
#include "cc/service/assign_check.h"
#include "cc/wire/messages.h"

namespace persia {
namespace {

// Asks the shard that the cursor is in; at that shard's end, moves the cursor
// to the next shard. If each server reaches all rows, asks only the first and
// forwards the whole cursor: an embedding worker advances it over its shards.
class ExportCall : public FanOut {
 public:
  ExportCall(const Channels* channels, bool each_has_all,
             ExportRequest* request, DoneCallback done)
      : FanOut(channels, request->deadline, std::move(done)),
        each_has_all_(each_has_all),
        request_(request) {}

  void Start() {
    const uint32_t shard = request_->cursor.shard;
    if (each_has_all_) return Ask({0}, MessageType::kExportReply, false);
    if (shard < shard_count()) {
      return Ask({shard}, MessageType::kExportReply, false);
    }
    Fail(InvalidArgument("an export's shard must be below their number, ",
                         shard_count(), ", received ", shard));
  }

 private:
  OutFrame Encode(uint32_t /*shard*/, uint64_t request_id) override {
    if (each_has_all_) return EncodeExport(request_id, *request_);
    ExportRequest part;
    part.table = request_->table;
    part.cursor.position = request_->cursor.position;
    part.max_rows = request_->max_rows;
    return EncodeExport(request_id, part);
  }

  Status OnReply(uint32_t /*shard*/, ConstBytes body) override {
    // A reply that cannot be decoded must not change the cursor, so that the
    // caller can try again.
    ExportRequest reply;
    try {
      PERSIA_RETURN_IF_ERROR(DecodeExportReply(body, &reply));
    } catch (const std::bad_alloc&) {
      return Status(Code::kResourceExhausted,
                    Concat("no memory for a page of ", body.size(), " bytes"));
    }
    if (!each_has_all_ && reply.cursor.shard != 0) {
      return Status(Code::kUnimplemented,
                    "it stands before shards of its own: export from those");
    }
    request_->dim = reply.dim;
    request_->state_size = reply.state_size;
    request_->page = std::move(reply.page);
    MoveOn(reply.cursor);
    return Status();
  }

  void MoveOn(const ExportCursor& in_shard) {
    ExportCursor& cursor = request_->cursor;
    if (each_has_all_) {
      cursor = in_shard;
      return;
    }
    cursor.position = in_shard.position;
    if (!cursor.at_end() || cursor.shard + 1 == shard_count()) return;
    ++cursor.shard;
    cursor.position = Table::kBegin;
  }

  Status OnAllReplied() override { return Status(); }

  const bool each_has_all_;
  ExportRequest* const request_;
};

class AssignCall : public FanOut {
 public:
  AssignCall(const Channels* channels, RowScratchPool* pool,
             AssignRequest* request, DoneCallback done)
      : FanOut(channels, request->deadline, std::move(done)),
        request_(request),
        scratch_(pool->Lend()) {}

  void Start() {
    const Status status = Prepare();
    if (!status.ok()) return Fail(status);
    Ask(ShardsWithWork(scratch_->partition), MessageType::kAssignReply,
        /*retry_unavailable=*/false);
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
    if (shard_count() == 1) return EncodeAssign(request_id, *request_);
    AssignRequest part = *request_;
    part.ids = scratch_->partition.ids(0, shard);
    part.weights = Share(shard, request_->dim, request_->weights);
    part.state = Share(shard, request_->state_size, request_->state);
    return EncodeAssign(request_id, part);
  }

  // The shard's share of `all`, contiguous.
  Span<const float> Share(uint32_t shard, size_t width, Span<const float> all) {
    const Partition& partition = scratch_->partition;
    const Span<float> share =
        free_floats_.first(partition.ids(0, shard).size() * width);
    free_floats_ = free_floats_.subspan(share.size());
    partition.Gather(0, shard, width, all.data(), share.data());
    return share;
  }

  Status OnReply(uint32_t /*shard*/, ConstBytes body) override {
    return DecodeAssignReply(body);
  }

  Status OnAllReplied() override { return Status(); }

  AssignRequest* const request_;
  const RowScratchPool::Lent scratch_;
  Span<float> free_floats_;  // The unused rest of scratch_->buffer.
};

class RemoveCall : public FanOut {
 public:
  RemoveCall(const Channels* channels, RowScratchPool* pool,
             RemoveRequest* request, DoneCallback done)
      : FanOut(channels, request->deadline, std::move(done)),
        request_(request),
        scratch_(pool->Lend()),
        removed_(shard_count()) {}

  void Start() {
    const Status status = scratch_->partition.Build(
        {Partition::Split(request_->ids)}, shard_count());
    if (!status.ok()) return Fail(status);
    Ask(ShardsWithWork(scratch_->partition), MessageType::kRemoveReply,
        /*retry_unavailable=*/false);
  }

 private:
  OutFrame Encode(uint32_t shard, uint64_t request_id) override {
    RemoveRequest part;
    part.table = request_->table;
    part.ids = scratch_->partition.ids(0, shard);
    return EncodeRemove(request_id, part);
  }

  Status OnReply(uint32_t shard, ConstBytes body) override {
    return DecodeRemoveReply(body, &removed_[shard]);
  }

  Status OnAllReplied() override {
    request_->removed = 0;
    for (const uint64_t removed : removed_) request_->removed += removed;
    return Status();
  }

  RemoveRequest* const request_;
  const RowScratchPool::Lent scratch_;
  std::vector<uint64_t> removed_;  // By shard.
};

}  // namespace

void StartExport(const Channels* channels, TableRoutes* routes,
                 ExportRequest* request, DoneCallback done) {
  const auto start = [channels, request, done](bool each_has_all) {
    std::make_shared<ExportCall>(channels, each_has_all, request, done)
        ->Start();
  };
  if (const auto known = routes->EachHasAllRows(request->table)) {
    return start(*known);
  }
  StartLearnRoute(
      channels, routes, request->table, request->deadline,
      [routes, request, done, start](const Status& status) {
        if (!status.ok()) return done(status);
        start(routes->EachHasAllRows(request->table).value_or(false));
      });
}

void StartAssign(const Channels* channels, RowScratchPool* pool,
                 AssignRequest* request, DoneCallback done) {
  std::make_shared<AssignCall>(channels, pool, request, std::move(done))
      ->Start();
}

void StartRemove(const Channels* channels, RowScratchPool* pool,
                 RemoveRequest* request, DoneCallback done) {
  std::make_shared<RemoveCall>(channels, pool, request, std::move(done))
      ->Start();
}

}  // namespace persia
