// Implements Export and Changes, which a client of many shards sends to one
// shard.

#include <utility>

#include "cc/client/calls.h"

namespace persia {
namespace {

// Stands for any table when a route is requested: whether the servers are
// embedding workers does not depend on the table.
constexpr TableKey kAnyTable = 0;

// Sends the request to the shard that the request names. If each server reaches
// all rows, as embedding workers do, sends the unchanged request to the first
// server, which forwards it to that shard.
template <typename Request>
class CallOfOneShard : public FanOut {
 public:
  CallOfOneShard(const CallContext& context, bool each_has_all,
                 Request* request, DoneCallback done)
      : FanOut(context.view, kReplyType<Request>, request->deadline,
               std::move(done)),
        each_has_all_(each_has_all),
        request_(request) {}

 protected:
  void SendToOne(uint32_t shard, const char* what) {
    if (each_has_all_) return Send({0});
    if (shard < shard_count()) return Send({shard});
    Fail(InvalidArgument(what, " must be below the number of shards, ",
                         shard_count(), ", received ", shard));
  }

  // Returns the request in the form that a single shard expects: without the
  // shard's number, since a shard does not know of other shards.
  virtual Request OfOne() const = 0;
  virtual Status Take(Request* reply) = 0;

  const bool each_has_all_;
  Request* const request_;

 private:
  OutFrame Encode(uint32_t /*shard*/, uint64_t request_id) override {
    return each_has_all_ ? EncodeRequest(request_id, *request_)
                         : EncodeRequest(request_id, OfOne());
  }

  Status OnReply(uint32_t /*shard*/, ConstBytes body) override {
    // A reply that cannot be decoded must leave the request unchanged, so that
    // the caller can retry the request.
    Request reply;
    PERSIA_RETURN_IF_ERROR(DecodeReply(body, &reply));
    return Take(&reply);
  }
};

// Exports one page of rows. After a shard's last page, the cursor moves to the
// next shard. An embedding worker moves the cursor over its shards in the same
// way.
class ExportCall : public CallOfOneShard<ExportRequest> {
 public:
  using CallOfOneShard::CallOfOneShard;

  void Start() { SendToOne(request_->cursor.shard, "an export's shard"); }

 private:
  ExportRequest OfOne() const override {
    ExportRequest part;
    part.table = request_->table;
    part.cursor.position = request_->cursor.position;
    part.max_rows = request_->max_rows;
    return part;
  }

  Status Take(ExportRequest* reply) override {
    if (!each_has_all_ && reply->cursor.shard != 0) {
      return Status(Code::kUnimplemented,
                    "this server forwards to shards of its own: export from "
                    "those shards");
    }
    request_->dim = reply->dim;
    request_->state_size = reply->state_size;
    request_->page = std::move(reply->page);
    MoveOn(reply->cursor);
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
};

class ChangesCall : public CallOfOneShard<ChangesRequest> {
 public:
  using CallOfOneShard::CallOfOneShard;

  void Start() { SendToOne(request_->shard, "the shard of changes"); }

 private:
  ChangesRequest OfOne() const override {
    ChangesRequest part;
    part.position = request_->position;
    part.max_rows = request_->max_rows;
    part.max_bytes = request_->max_bytes;
    return part;
  }

  Status Take(ChangesRequest* reply) override {
    reply->position.follower = request_->position.follower;
    request_->position = reply->position;
    request_->begins = reply->begins;
    request_->complete = reply->complete;
    request_->tables = std::move(reply->tables);
    return Status();
  }
};

template <typename Call, typename Request>
auto Beginning(const CallContext& context, Request* request,
               const DoneCallback& done) {
  return [context, request, done](bool each_has_all) {
    Begin<Call>(context, each_has_all, request, done);
  };
}

}  // namespace

void StartCall(const CallContext& context, ExportRequest* request,
               DoneCallback done) {
  StartRouted(context, request->table, request->deadline, done,
              Beginning<ExportCall>(context, request, done));
}

void StartCall(const CallContext& context, ChangesRequest* request,
               DoneCallback done) {
  const auto begin = Beginning<ChangesCall>(context, request, done);
  // A single server needs no route: it checks the shard's number itself.
  if (context.view->size() == 1) return begin(true);
  StartRouted(context, kAnyTable, request->deadline, done, begin);
}

}  // namespace persia
