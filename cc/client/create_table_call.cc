#include "cc/client/create_table_call.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "cc/base/hash.h"
#include "cc/client/table_parts.h"
#include "cc/wire/messages.h"

namespace persia {
namespace {

// Sends one step to some of the shards.
class StepCall : public FanOut {
 public:
  // Sends `request`'s config with this step and identity. The replies go to
  // `parts`.
  StepCall(const Channels* channels, const CreateTableRequest& request,
           OpeningStep step, uint64_t identity, TableParts* parts,
           DoneCallback done)
      : FanOut(channels, request.deadline, std::move(done)), parts_(*parts) {
    asked_.config = request.config;
    asked_.config.shard_count = shard_count();
    asked_.step = step;
    asked_.identity = identity;
    asked_.replaces_optimizer = request.replaces_optimizer;
  }

  void Start(const std::vector<uint32_t>& shards) {
    Ask(shards, MessageType::kCreateTableReply, /*retry_unavailable=*/false);
  }

 private:
  OutFrame Encode(uint32_t shard, uint64_t request_id) override {
    asked_.config.shard_index = shard;
    return EncodeCreateTable(request_id, asked_);
  }

  Status OnReply(uint32_t shard, ConstBytes body) override {
    return DecodeCreateTableReply(body, &parts_[shard].reply);
  }

  Status OnAllReplied() override { return Status(); }

  CreateTableRequest asked_;
  TableParts& parts_;
};

// Keeps itself alive until it is done.
class CreateTableCall : public std::enable_shared_from_this<CreateTableCall> {
 public:
  CreateTableCall(const Channels* channels, TableRoutes* routes,
                  CreateTableRequest* request, DoneCallback done)
      : channels_(channels),
        routes_(routes),
        request_(request),
        done_(std::move(done)) {
    for (const auto& channel : *channels) {
      parts_.push_back({channel->name(), {}});
    }
  }

  void Start() {
    switch (request_->step) {
      case OpeningStep::kOpen:
        // A single server has all of the table, or is an embedding worker,
        // which performs the steps on its shards.
        if (parts_.size() == 1)
          return AskAll(OpeningStep::kOpen, 0, Finishing());
        return Find();
      case OpeningStep::kFind:
        return Find();
      case OpeningStep::kPrepare:
        return Prepare(request_->identity);
      case OpeningStep::kComplete:
        return Complete(request_->identity);
    }
  }

 private:
  using Next = std::function<void()>;

  // Calls `next` after the step, unless a shard fails: then the call fails.
  void Ask(const std::vector<uint32_t>& shards, OpeningStep step,
           uint64_t identity, Next next) {
    std::make_shared<StepCall>(
        channels_, *request_, step, identity, &parts_,
        [self = shared_from_this(), next = std::move(next)](Status status) {
          if (!status.ok()) return self->done_(std::move(status));
          next();
        })
        ->Start(shards);
  }

  void AskAll(OpeningStep step, uint64_t identity, Next next) {
    Ask(ShardsFrom(0), step, identity, std::move(next));
  }

  std::vector<uint32_t> ShardsFrom(uint32_t first) const {
    std::vector<uint32_t> shards(parts_.size() - first);
    std::iota(shards.begin(), shards.end(), first);
    return shards;
  }

  void Find() {
    AskAll(OpeningStep::kFind, 0, [this] { OnFound(); });
  }

  void OnFound() {
    if (!BelongTogether(parts_)) {
      if (!std::exchange(asked_again_, true)) return Find();
      return done_(PartsError(request_->config.name, parts_));
    }
    const bool is_complete = JointState(parts_) == TableState::kComplete;
    if (is_complete || request_->step == OpeningStep::kFind) return Finish();
    // If the shards' generations differ, fail before anything is created.
    uint64_t generation = 0;
    Status status = JoinedGeneration(&generation);
    if (!status.ok()) return done_(std::move(status));
    if (AnyIsComplete(parts_)) return Complete(JointIdentity(parts_));
    Prepare(0);
  }

  void Prepare(uint64_t identity) {
    Ask({0}, OpeningStep::kPrepare, identity, [this] {
      if (parts_.size() == 1) return OnPrepared();
      Ask(ShardsFrom(1), OpeningStep::kPrepare, parts_[0].reply.identity,
          [this] { OnPrepared(); });
    });
  }

  void OnPrepared() {
    if (!BelongTogether(parts_)) {
      return done_(PartsError(request_->config.name, parts_));
    }
    if (request_->step == OpeningStep::kPrepare) return Finish();
    Complete(parts_[0].reply.identity);
  }

  void Complete(uint64_t identity) {
    AskAll(OpeningStep::kComplete, identity, Finishing());
  }

  Next Finishing() {
    return [this] { Finish(); };
  }

  void Finish() {
    request_->takes_bags =
        std::all_of(parts_.begin(), parts_.end(),
                    [](const auto& part) { return part.reply.takes_bags; });
    routes_->SetTakesBags(HashName(request_->config.name),
                          request_->takes_bags);
    request_->state = JointState(parts_);
    request_->identity = JointIdentity(parts_);
    request_->optimizer = parts_[0].reply.optimizer;
    request_->rows = 0;
    for (const TablePart& part : parts_) {
      // Servers that take bags are embedding workers: each counts all rows.
      request_->rows = request_->takes_bags
                           ? std::max(request_->rows, part.reply.rows)
                           : request_->rows + part.reply.rows;
    }
    done_(JoinedGeneration(&request_->generation));
  }

  Status JoinedGeneration(uint64_t* generation) const {
    std::vector<uint64_t> generations;
    for (const TablePart& part : parts_) {
      generations.push_back(part.reply.generation);
    }
    return JoinGenerations(generations, generation);
  }

  const Channels* const channels_;
  TableRoutes* const routes_;
  CreateTableRequest* const request_;
  const DoneCallback done_;
  TableParts parts_;  // By shard, from its last reply.
  bool asked_again_ = false;
};

}  // namespace

void StartCreateTable(const Channels* channels, TableRoutes* routes,
                      CreateTableRequest* request, DoneCallback done) {
  std::make_shared<CreateTableCall>(channels, routes, request, std::move(done))
      ->Start();
}

}  // namespace persia
