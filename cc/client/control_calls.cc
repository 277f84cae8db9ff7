// Implements the Stats and SlotLoads requests for many shards, and uses Stats
// to learn a table's route.

#include <algorithm>
#include <functional>
#include <iterator>
#include <memory>
#include <utility>

#include "cc/client/calls.h"

namespace persia {
namespace {

class StatsCall : public CallOf<StatsRequest> {
 public:
  using CallOf::CallOf;

 private:
  Status OnAllReplied() override {
    request_->processes.clear();
    for (uint32_t shard = 0; shard < shard_count(); ++shard) {
      StatsRequest& reply = replies_[shard];
      // A server knows only the address on which it listens, which may be that
      // of every machine: 0.0.0.0.
      if (!reply.processes.empty()) {
        reply.processes.front().address = view().channels[shard]->address();
      }
      std::move(reply.processes.begin(), reply.processes.end(),
                std::back_inserter(request_->processes));
    }
    return Status();
  }
};

class SlotLoadsCall : public CallOf<SlotLoadsRequest> {
 public:
  using CallOf::CallOf;

 private:
  Status OnAllReplied() override {
    std::vector<SlotLoad> sums(kSlots);
    for (const SlotLoadsRequest& reply : replies_) reply.AddTo(&sums);
    request_->Tell(sums);
    return Status();
  }
};

// Learns a table's route: whether every server is an embedding worker.
class LearnRouteCall : public CallOf<StatsRequest> {
 public:
  LearnRouteCall(const CallContext& context,
                 std::unique_ptr<StatsRequest> request, TableKey table,
                 DoneCallback done)
      : CallOf(context, request.get(), std::move(done)),
        asked_(std::move(request)),
        routes_(context.routes),
        table_(table) {}

 private:
  Status OnAllReplied() override {
    // An embedding worker reports itself and its shards; a shard only itself.
    routes_->SetTakesBags(table_, std::all_of(replies_.begin(), replies_.end(),
                                              [](const StatsRequest& reply) {
                                                return reply.processes.size() >
                                                       1;
                                              }));
    return Status();
  }

  const std::unique_ptr<StatsRequest> asked_;
  TableRoutes* const routes_;
  const TableKey table_;
};

}  // namespace

void StartCall(const CallContext& context, StatsRequest* request,
               DoneCallback done) {
  Begin<StatsCall>(context, request, std::move(done));
}

void StartCall(const CallContext& context, SlotLoadsRequest* request,
               DoneCallback done) {
  Begin<SlotLoadsCall>(context, request, std::move(done));
}

void StartRouted(const CallContext& context, TableKey table, Deadline deadline,
                 DoneCallback done,
                 std::function<void(bool each_has_all)> start) {
  TableRoutes* const routes = context.routes;
  if (const auto known = routes->EachHasAllRows(table, *context.view)) {
    return start(*known);
  }
  const auto learned = [=, view = context.view](const Status& status) {
    if (!status.ok()) return done(status);
    start(routes->EachHasAllRows(table, *view).value_or(false));
  };
  auto request = std::make_unique<StatsRequest>();
  request->deadline = deadline;
  Begin<LearnRouteCall>(context, std::move(request), table, learned);
}

}  // namespace persia
