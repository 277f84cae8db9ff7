// The calls that a client of many shards makes. Each call splits its request
// over the shards and joins their replies.

#ifndef PERSIA_CC_CLIENT_CALLS_H_
#define PERSIA_CC_CLIENT_CALLS_H_

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "cc/base/byte_buffer.h"
#include "cc/client/fan_out.h"
#include "cc/client/members.h"
#include "cc/client/object_pool.h"
#include "cc/client/partition.h"
#include "cc/client/table_routes.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/event_loop.h"
#include "cc/wire/messages.h"
#include "cc/wire/wire_dtype.h"

namespace persia {

// The scratch memory of one call. A pool retains it for later calls.
struct RowScratch {
  Partition partition;
  // Holds vectors that must be converted or regrouped before they are sent: the
  // gradients of an Update, or the weights and state of an Assign, ordered by
  // shard.
  ByteBuffer buffer;
};
using RowScratchPool = ObjectPool<RowScratch>;

// What all calls of one client share, and the view of the cluster that the next
// call uses. The objects must outlive the calls.
struct CallContext {
  EmbeddingService* service;  // The client.
  Members* members;
  EventLoop* loop;
  SharedView view;
  TableRoutes* routes;
  RowScratchPool* pool;
  // The number format of sent gradients and of requested rows.
  WireDtype dtype;
};

// Sends the same request to every shard and stores the shards' replies. A
// request whose reply is empty needs no subclass of this call.
template <typename Request>
class CallOf : public FanOut {
 public:
  CallOf(const CallContext& context, Request* request, DoneCallback done)
      : FanOut(context.view, kReplyType<Request>, request->deadline,
               std::move(done)),
        request_(request),
        replies_(shard_count()) {}

  void Start() { SendToAll(); }

 protected:
  OutFrame Encode(uint32_t /*shard*/, uint64_t request_id) override {
    return EncodeRequest(request_id, *request_);
  }

  Status OnReply(uint32_t shard, ConstBytes body) override {
    return DecodeReply(body, &replies_[shard]);
  }

  Request* const request_;
  // Indexed by shard; only output fields are set.
  std::vector<Request> replies_;
};

// Creates a call object and starts the call. The object keeps itself alive
// until the call is done.
template <typename Call, typename... Arguments>
void Begin(Arguments&&... arguments) {
  std::make_shared<Call>(std::forward<Arguments>(arguments)...)->Start();
}

// Starts the call for a request; `done` receives the outcome. There is one
// overload per request type.
void StartCall(const CallContext& context, CreateTableRequest* request,
               DoneCallback done);
void StartCall(const CallContext& context, LookupRequest* request,
               DoneCallback done);
void StartCall(const CallContext& context, UpdateRequest* request,
               DoneCallback done);
void StartCall(const CallContext& context, StatsRequest* request,
               DoneCallback done);
void StartCall(const CallContext& context, ExportRequest* request,
               DoneCallback done);
void StartCall(const CallContext& context, AssignRequest* request,
               DoneCallback done);
void StartCall(const CallContext& context, RemoveRequest* request,
               DoneCallback done);
void StartCall(const CallContext& context, CheckpointRequest* request,
               DoneCallback done);
void StartCall(const CallContext& context, ChangesRequest* request,
               DoneCallback done);
void StartCall(const CallContext& context, FilesRequest* request,
               DoneCallback done);
void StartCall(const CallContext& context, TopologyRequest* request,
               DoneCallback done);
void StartCall(const CallContext& context, HandOverRequest* request,
               DoneCallback done);
void StartCall(const CallContext& context, MoveRequest* request,
               DoneCallback done);
void StartCall(const CallContext& context, StandbyRequest* request,
               DoneCallback done);
void StartCall(const CallContext& context, SlotLoadsRequest* request,
               DoneCallback done);

// Sends the drop to every address. If the addresses are embedding workers, each
// worker forwards the drop to all shards; a shard recognizes the repeats by
// their drop_id and ignores them.
inline void StartCall(const CallContext& context, DropTableRequest* request,
                      DoneCallback done) {
  Begin<CallOf<DropTableRequest>>(context, request, std::move(done));
}

// Calls `start` once the client knows the table's route: whether each server
// reaches all rows of the table. If the table was not created through this
// client, first requests the route from the servers; if that request fails,
// calls `done` with the error instead of `start`.
void StartRouted(const CallContext& context, TableKey table, Deadline deadline,
                 DoneCallback done,
                 std::function<void(bool each_has_all)> start);

}  // namespace persia

#endif  // PERSIA_CC_CLIENT_CALLS_H_
