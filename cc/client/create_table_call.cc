// Implements CreateTable for many shards. No shard marks the table as complete
// before all shards have their parts.
//
// A shard that lost its part of a table must not silently get an empty one, so
// a table is opened in steps:
//
//   find      every shard reports the state of its part of the table
//   prepare   if no shard's part is complete: shard 0 creates its part, and
//             draws the table's identity unless it has one; then the other
//             shards create theirs, with that identity
//   complete  every shard records that all parts have been prepared
//
// So if the table is complete on one shard, every shard had its part before,
// and a shard that now reports no part has lost it. If `find` reports both a
// complete part and an absent one, another program may have created the table
// between the shards' replies; so the call repeats `find` once, without
// waiting, before it fails. A program that ends midway leaves an incomplete
// table, and the next program that opens the table performs the remaining
// steps.
//
// A shard that owns no slots may lack its part, since it has joined the cluster
// after the table was created: it then gets its part.
//
// Several programs may open a table concurrently: all get the identity that
// shard 0 drew. An embedding worker applies each step to all of its shards.

#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "cc/base/hash.h"
#include "cc/client/calls.h"
#include "cc/client/table_parts.h"
#include "cc/wire/messages.h"

namespace persia {
namespace {

// Sends one step of the opening of a table to some of the shards.
class StepCall : public FanOut {
 public:
  // Prepares messages with the table config of `request`, this step and this
  // identity. Each shard's reply is stored in `parts`.
  StepCall(SharedView view, const CreateTableRequest& request, OpeningStep step,
           uint64_t identity, TableParts* parts, DoneCallback done)
      : FanOut(std::move(view), kReplyType<CreateTableRequest>,
               request.deadline, std::move(done)),
        parts_(*parts) {
    asked_.config = request.config;
    asked_.step = step;
    asked_.identity = identity;
    asked_.replaces_optimizer = request.replaces_optimizer;
  }

  void Start(const std::vector<uint32_t>& shards) { Send(shards); }

 private:
  OutFrame Encode(uint32_t /*shard*/, uint64_t request_id) override {
    return EncodeRequest(request_id, asked_);
  }

  Status OnReply(uint32_t shard, ConstBytes body) override {
    return DecodeReply(body, &parts_[shard].reply);
  }

  CreateTableRequest asked_;
  TableParts& parts_;
};

// Opens a table in the steps that the top of this file describes. The object
// keeps itself alive until the call is done.
class CreateTableCall : public std::enable_shared_from_this<CreateTableCall> {
 public:
  CreateTableCall(const CallContext& context, CreateTableRequest* request,
                  DoneCallback done)
      : view_(context.view),
        routes_(context.routes),
        request_(request),
        done_(std::move(done)) {
    for (const Channel* channel : view_->channels) {
      parts_.push_back({channel->name(), {}});
    }
  }

  void Start() {
    switch (request_->step) {
      case OpeningStep::kOpen:
        // A single server either stores the whole table, or is an embedding
        // worker that performs the steps on its shards; so one message is
        // enough.
        if (parts_.size() == 1)
          return SendToAll(OpeningStep::kOpen, 0, Finishing());
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

  // Sends the step to `shards` and calls `next` when all of them have replied.
  // If a shard fails, the whole call fails instead.
  void Send(const std::vector<uint32_t>& shards, OpeningStep step,
            uint64_t identity, Next next) {
    std::make_shared<StepCall>(
        view_, *request_, step, identity, &parts_,
        [self = shared_from_this(), next = std::move(next)](Status status) {
          if (!status.ok()) return self->done_(std::move(status));
          next();
        })
        ->Start(shards);
  }

  void SendToAll(OpeningStep step, uint64_t identity, Next next) {
    Send(ShardsFrom(0), step, identity, std::move(next));
  }

  std::vector<uint32_t> ShardsFrom(uint32_t first) const {
    std::vector<uint32_t> shards(parts_.size() - first);
    std::iota(shards.begin(), shards.end(), first);
    return shards;
  }

  void Find() {
    SendToAll(OpeningStep::kFind, 0, [this] { OnFound(); });
  }

  void OnFound() {
    const std::vector<uint32_t> newcomers = Newcomers();
    if (!newcomers.empty()) {
      return Send(newcomers, OpeningStep::kPrepare, JointIdentity(parts_),
                  [this] { OnFound(); });
    }
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

  // The shards that lack their part and own no slots, if others have a complete
  // one.
  std::vector<uint32_t> Newcomers() const {
    std::vector<uint32_t> newcomers;
    if (!AnyIsComplete(parts_)) return newcomers;
    std::vector<bool> owns(parts_.size(), false);
    for (uint32_t slot = 0; slot < kSlots; ++slot) {
      owns[view_->owners->OwnerOfSlot(slot)] = true;
    }
    for (uint32_t s = 0; s < parts_.size(); ++s) {
      const bool is_absent = parts_[s].reply.state == TableState::kAbsent;
      if (is_absent && !owns[s]) newcomers.push_back(s);
    }
    return newcomers;
  }

  void Prepare(uint64_t identity) {
    Send({0}, OpeningStep::kPrepare, identity, [this] {
      if (parts_.size() == 1) return OnPrepared();
      Send(ShardsFrom(1), OpeningStep::kPrepare, parts_[0].reply.identity,
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
    SendToAll(OpeningStep::kComplete, identity, Finishing());
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
      // Servers that accept bags are embedding workers. Each of them reports
      // the rows of all shards, so their counts must not be added up.
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

  const SharedView view_;
  TableRoutes* const routes_;
  CreateTableRequest* const request_;
  const DoneCallback done_;
  TableParts parts_;  // Indexed by shard; holds each shard's last reply.
  bool asked_again_ = false;
};

}  // namespace

// Creates the table, and records its route in `context`: whether each server
// reaches all of the table's rows.
void StartCall(const CallContext& context, CreateTableRequest* request,
               DoneCallback done) {
  Begin<CreateTableCall>(context, request, std::move(done));
}

}  // namespace persia
