// Implements the requests that a client of many shards sends to one shard.

#include <algorithm>
#include <utility>
#include <vector>

#include "cc/base/hash.h"
#include "cc/client/calls.h"
#include "cc/client/send_anew.h"

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

// A hash of what the shards own, and of the epochs of their slots; 0 if the
// servers are no shards of a cluster.
uint64_t HashOfOwners(const ClusterView& view) {
  uint64_t hash = 0;
  for (const uint64_t route : view.routes) {
    if (route != 0) hash = Mix64(hash ^ route);
  }
  return hash;
}

// Exports one page of rows. After a shard's last page, the cursor moves to the
// next shard. An embedding worker moves the cursor over its shards in the same
// way.
//
// Each page must come from a shard that owns exactly what it owned when the
// export began. So no slot can move from a shard that is yet to be exported to
// one that was, or back, unnoticed.
class ExportCall : public CallOfOneShard<ExportRequest> {
 public:
  ExportCall(const CallContext& context, bool each_has_all,
             ExportRequest* request, DoneCallback done)
      : CallOfOneShard(context, each_has_all, request, std::move(done)),
        context_(context) {}

  void Start() {
    ExportCursor& cursor = request_->cursor;
    if (!each_has_all_) {
      const uint64_t owners = HashOfOwners(view());
      if (cursor.owners == 0) cursor.owners = owners;
      if (cursor.owners != owners) return Fail(Moved());
    }
    SendToOne(cursor.shard, "an export's shard");
  }

 private:
  static Status Moved() {
    return Status(Code::kFailedPrecondition,
                  "slots moved to another shard during the export: export "
                  "again");
  }

  bool CanSendAnew() const override { return !each_has_all_; }

  // The client tells the shard what it knows, and learns what the shard knows.
  // Unless this is the first page, all shards must own what they owned before.
  void SendAnew(const std::vector<uint32_t>& shards,
                DoneCallback done) override {
    WhenRoutable(context_, shards, request_->deadline,
                 [self = shared_from_this(), this,
                  done = std::move(done)](const Status& status) {
                   if (!status.ok()) return done(status);
                   ExportCursor& cursor = request_->cursor;
                   const bool is_first =
                       cursor.shard == 0 && cursor.position == Table::kBegin;
                   if (is_first) cursor.owners = 0;
                   context_.service->Export(request_, done);
                 });
  }

  ExportRequest OfOne() const override {
    ExportRequest part;
    const uint32_t shard = request_->cursor.shard;
    part.route = shard < shard_count() ? view().routes[shard] : 0;
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

  const CallContext context_;
};

class ChangesCall : public CallOfOneShard<ChangesRequest> {
 public:
  using CallOfOneShard::CallOfOneShard;

  void Start() { SendToOne(NumberOf(), "the shard of changes"); }

 private:
  uint32_t NumberOf() const {
    const std::vector<uint64_t>& members = view().members;
    const auto found =
        request_->member == 0
            ? members.end()
            : std::find(members.begin(), members.end(), request_->member);
    return found == members.end()
               ? request_->shard
               : static_cast<uint32_t>(found - members.begin());
  }

  ChangesRequest OfOne() const override {
    ChangesRequest part;
    part.position = request_->position;
    part.max_rows = request_->max_rows;
    part.max_bytes = request_->max_bytes;
    part.member = request_->member;
    part.whole_rows = request_->whole_rows;
    part.slots = request_->slots;
    return part;
  }

  Status Take(ChangesRequest* reply) override {
    reply->position.follower = request_->position.follower;
    request_->position = reply->position;
    request_->begins = reply->begins;
    request_->complete = reply->complete;
    request_->only_changes = reply->only_changes;
    request_->requests = reply->requests;
    request_->tables = std::move(reply->tables);
    request_->held = std::move(reply->held);
    request_->fresh = reply->fresh;
    return Status();
  }
};

// Sends the request to a shard, unchanged.
template <typename Request>
class CallOfShard : public FanOut {
 public:
  CallOfShard(const CallContext& context, Request* request, DoneCallback done)
      : FanOut(context.view, kReplyType<Request>, request->deadline,
               std::move(done)),
        request_(request) {}

  void Start(uint32_t shard) {
    if (shard < shard_count()) return Send({shard});
    Fail(InvalidArgument("shard must be below the number of shards, ",
                         shard_count(), ", received ", shard));
  }

 private:
  OutFrame Encode(uint32_t /*shard*/, uint64_t request_id) override {
    return EncodeRequest(request_id, *request_);
  }

  Status OnReply(uint32_t /*shard*/, ConstBytes body) override {
    return DecodeReply(body, request_);
  }

  Request* const request_;
};

template <typename Call, typename Request>
auto Beginning(const CallContext& context, Request* request,
               const DoneCallback& done) {
  return [context, request, done](bool each_has_all) {
    Begin<Call>(context, each_has_all, request, done);
  };
}

}  // namespace

// A client of one server that finds no cluster stands for that server. Others
// ask each server by AskForTopology.
void StartCall(const CallContext& context, TopologyRequest* request,
               DoneCallback done) {
  if (context.view->size() > 1) {
    return done(Status(Code::kUnimplemented,
                       "a client of several shards is no shard of a cluster"));
  }
  std::make_shared<CallOfShard<TopologyRequest>>(context, request,
                                                 std::move(done))
      ->Start(0);
}

void StartCall(const CallContext& context, HandOverRequest* request,
               DoneCallback done) {
  std::make_shared<CallOfShard<HandOverRequest>>(context, request,
                                                 std::move(done))
      ->Start(0);
}

void StartCall(const CallContext& context, MoveRequest* request,
               DoneCallback done) {
  std::make_shared<CallOfShard<MoveRequest>>(context, request, std::move(done))
      ->Start(request->shard);
}

void StartCall(const CallContext& context, StandbyRequest* request,
               DoneCallback done) {
  std::make_shared<CallOfShard<StandbyRequest>>(context, request,
                                                std::move(done))
      ->Start(0);
}

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
