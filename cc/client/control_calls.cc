#include "cc/client/control_calls.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "cc/wire/messages.h"

namespace persia {
namespace {

// Each of several embedding workers forwards the request to all shards, which
// ignore the repeats, by drop_id.
class DropTableCall : public FanOut {
 public:
  DropTableCall(const Channels* channels, const DropTableRequest* request,
                DoneCallback done)
      : FanOut(channels, request->deadline, std::move(done)),
        request_(request) {}

  void Start() { AskAll(MessageType::kDropTableReply); }

 private:
  OutFrame Encode(uint32_t /*shard*/, uint64_t request_id) override {
    return EncodeDropTable(request_id, *request_);
  }

  Status OnReply(uint32_t /*shard*/, ConstBytes body) override {
    return DecodeDropTableReply(body);
  }

  Status OnAllReplied() override { return Status(); }

  const DropTableRequest* const request_;
};

class StatsCall : public FanOut {
 public:
  StatsCall(const Channels* channels, StatsRequest* request, DoneCallback done)
      : FanOut(channels, request->deadline, std::move(done)),
        request_(request),
        processes_(shard_count()) {}

  void Start() { AskAll(MessageType::kStatsReply); }

 private:
  OutFrame Encode(uint32_t /*shard*/, uint64_t request_id) override {
    return EncodeStats(request_id);
  }

  Status OnReply(uint32_t shard, ConstBytes body) override {
    return DecodeStatsReply(body, &processes_[shard]);
  }

  Status OnAllReplied() override {
    request_->processes.clear();
    for (std::vector<ServiceStats>& of_shard : processes_) {
      std::move(of_shard.begin(), of_shard.end(),
                std::back_inserter(request_->processes));
    }
    return Status();
  }

  StatsRequest* const request_;
  std::vector<std::vector<ServiceStats>> processes_;  // By shard.
};

// Finds out whether every server is an embedding worker.
class LearnRouteCall : public FanOut {
 public:
  LearnRouteCall(const Channels* channels, TableRoutes* routes, TableKey table,
                 Deadline deadline, DoneCallback done)
      : FanOut(channels, deadline, std::move(done)),
        routes_(routes),
        table_(table),
        processes_(shard_count()) {}

  void Start() { AskAll(MessageType::kStatsReply); }

 private:
  OutFrame Encode(uint32_t /*shard*/, uint64_t request_id) override {
    return EncodeStats(request_id);
  }

  Status OnReply(uint32_t shard, ConstBytes body) override {
    std::vector<ServiceStats> processes;
    PERSIA_RETURN_IF_ERROR(DecodeStatsReply(body, &processes));
    processes_[shard] = processes.size();
    return Status();
  }

  Status OnAllReplied() override {
    // An embedding worker reports itself and its shards; a shard only itself.
    routes_->SetTakesBags(
        table_, std::all_of(processes_.begin(), processes_.end(),
                            [](size_t processes) { return processes > 1; }));
    return Status();
  }

  TableRoutes* const routes_;
  const TableKey table_;
  std::vector<size_t> processes_;  // By shard.
};

}  // namespace

void StartDropTable(const Channels* channels, DropTableRequest* request,
                    DoneCallback done) {
  std::make_shared<DropTableCall>(channels, request, std::move(done))->Start();
}

void StartStats(const Channels* channels, StatsRequest* request,
                DoneCallback done) {
  std::make_shared<StatsCall>(channels, request, std::move(done))->Start();
}

void StartLearnRoute(const Channels* channels, TableRoutes* routes,
                     TableKey table, Deadline deadline, DoneCallback done) {
  std::make_shared<LearnRouteCall>(channels, routes, table, deadline,
                                   std::move(done))
      ->Start();
}

}  // namespace persia
