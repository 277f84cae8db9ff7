#include "cc/pipeline/step_ledger.h"

#include <algorithm>
#include <utility>

#include "cc/pipeline/layer_name.h"

namespace persia {
namespace {

Status NotTrainingRefusal(const std::string& layer) {
  return Status(
      Code::kFailedPrecondition,
      Concat(
          "layer '", ShownLayer(layer),
          "' must be called for training if the optimizer steps it, but was "
          "called with training=False or without `training`: its rows were "
          "not looked up for training. In a gradient tape, and in a "
          "`train_step` or `compute_loss` of your own (as models of "
          "TensorFlow Recommenders have), pass training=True to the model that "
          "contains the layer: `self.user_model(features[\"user\"], "
          "training=training)` in compute_loss(self, features, "
          "training=False), `self(x, training=True)` in train_step. In fit, "
          "give a subclassed model's `call` the argument `training=None`: "
          "without it Keras 3 does not tell a model's layers that it is "
          "being trained"));
}

Status StagedTwiceRefusal(const std::string& layer) {
  return Status(
      Code::kFailedPrecondition,
      Concat("gradients of one call of layer '", ShownLayer(layer),
             "' were computed twice in one step (by a persistent tape, or by "
             "two tapes over one call), so it is not known which of them the "
             "optimizer applies. Call the layer once for each gradient"));
}

}  // namespace

StepLedger::Opened StepLedger::Open(
    std::shared_ptr<const LookupPlan> plan) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  Opened opened;
  Layer& layer = layers_[plan->layer];
  layer.table = plan->table;
  DiscardStaged(&layer, plan->replica);
  if (plan->slot != nullptr) CloseEarlierSteps(*plan->slot);
  opened.released = ReleaseIfHeld({plan->table});

  opened.ticket = ++last_ticket_;
  layer.open.push_back(opened.ticket);
  ++open_by_table_[plan->table];
  tickets_[opened.ticket] = std::move(plan);
  if (layer.open.size() > kMaxOpenTickets) {
    CloseTicket(&layer, layer.open.front());
    layer.open.pop_front();
  }
  return opened;
}

Status StepLedger::Stage(const std::string& layer_name, Ticket ticket,
                         SharedGradients gradients) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  Layer& layer = layers_[layer_name];
  if (ticket == 0) {
    layer.refusal = NotTrainingRefusal(layer_name);
    return Status();
  }
  const auto found = tickets_.find(ticket);
  if (found == tickets_.end()) {
    return Status(Code::kFailedPrecondition,
                  Concat("layer '", ShownLayer(layer_name),
                         "': these gradients belong to a call whose step is "
                         "over. Compute them before the optimizer steps and "
                         "before the layer's next training call"));
  }
  const auto& plan = found->second;
  if (!gradients.vectors.Holds(plan->vectors(), plan->dim)) {
    return InvalidArgument("gradients of layer '", ShownLayer(layer_name),
                           "' must have ", plan->vectors() * plan->dim,
                           " values, as its output had, received ",
                           gradients.vectors.values().size());
  }
  if (plan->unique.ids.empty()) return Status();
  for (const StagedGradients& part : layer.staged) {
    if (part.plan == plan) layer.refusal = StagedTwiceRefusal(layer_name);
  }
  layer.staged.push_back({plan, std::move(gradients)});
  return Status();
}

Result<StepLedger::Committed> StepLedger::Commit(const std::string& layer_name,
                                                 OptimizerStep step) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  Committed committed;
  const auto found = layers_.find(layer_name);
  if (found == layers_.end()) return committed;
  Layer& layer = found->second;
  const Status refusal = std::exchange(layer.refusal, Status());
  if (!refusal.ok()) {
    DiscardAll(&layer);
    return refusal;
  }
  for (const Ticket ticket : layer.open) {
    const auto& slot = tickets_[ticket]->slot;
    if (slot != nullptr) slot->MarkStepped();
  }
  CloseTickets(&layer);
  committed.took_any = !layer.staged.empty();
  if (committed.took_any) Hold(&layer, step);
  if (tickets_.empty()) committed.released = TakeHeld({});
  return committed;
}

StepGroup StepLedger::Release(const std::vector<TableKey>& tables) noexcept {
  std::lock_guard<std::mutex> lock(mutex_);
  return ReleaseIfHeld(tables);
}

StepGroup StepLedger::ReleaseAll() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<TableKey> tables;
  for (const auto& entry : held_) tables.push_back(entry.first);
  return TakeHeld(tables);
}

void StepLedger::ForgetStream(uint64_t stream) {
  std::lock_guard<std::mutex> lock(mutex_);
  last_steps_.erase(stream);
}

uint64_t StepLedger::discarded() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return discarded_;
}

// Discards the layer's staged gradients of one replica. Gradients are staged
// after a step's forward pass; if they are still staged at the next forward
// pass, the optimizer did not step this layer.
void StepLedger::DiscardStaged(Layer* layer, int replica) {
  layer->refusal = Status();
  const auto is_of_replica = [replica](const auto& part) {
    return part.plan->replica == replica;
  };
  const auto first = std::stable_partition(
      layer->staged.begin(), layer->staged.end(),
      [&](const auto& part) { return !is_of_replica(part); });
  if (first == layer->staged.end()) return;
  discarded_ += layer->staged.end() - first;
  layer->staged.erase(first, layer->staged.end());
  const auto closed = std::stable_partition(
      layer->open.begin(), layer->open.end(),
      [&](Ticket ticket) { return tickets_[ticket]->replica != replica; });
  for (auto ticket = closed; ticket != layer->open.end(); ++ticket) {
    CloseTicket(layer, *ticket);
  }
  layer->open.erase(closed, layer->open.end());
}

void StepLedger::DiscardAll(Layer* layer) {
  discarded_ += layer->staged.size();
  layer->staged.clear();
  CloseTickets(layer);
}

void StepLedger::CloseTicket(Layer* layer, Ticket ticket) {
  tickets_.erase(ticket);
  --open_by_table_[layer->table];
}

void StepLedger::CloseTickets(Layer* layer) {
  for (const Ticket ticket : layer->open) CloseTicket(layer, ticket);
  layer->open.clear();
}

// Closes the open tickets of the stream's earlier batches for which the
// optimizer has stepped some layer: their other layers will never commit.
void StepLedger::CloseEarlierSteps(const BatchSlot& slot) {
  const auto [last, is_new] = last_steps_.emplace(slot.stream(), slot.step());
  if (!is_new && last->second == slot.step()) return;
  last->second = slot.step();
  const auto is_over = [&](Ticket ticket) {
    const auto& other = tickets_[ticket]->slot;
    return other != nullptr && other->stream() == slot.stream() &&
           other->step() < slot.step() && other->stepped();
  };
  for (auto& [name, layer] : layers_) {
    while (!layer.open.empty() && is_over(layer.open.front())) {
      CloseTicket(&layer, layer.open.front());
      layer.open.pop_front();
    }
  }
}

void StepLedger::Hold(Layer* layer, OptimizerStep step) {
  TableStep& held = held_[layer->table];
  held.table = layer->table;
  held.dim = layer->staged.front().plan->dim;
  held.learning_rate = step.learning_rate;
  held.step = step.number;
  for (StagedGradients& part : layer->staged) {
    held.parts.push_back(std::move(part));
  }
  layer->staged.clear();
}

StepGroup StepLedger::ReleaseIfHeld(const std::vector<TableKey>& tables) {
  const bool any_held =
      std::any_of(tables.begin(), tables.end(),
                  [&](TableKey table) { return held_.count(table) > 0; });
  return any_held ? TakeHeld(tables) : StepGroup();
}

// Removes and returns the held tables that are in `tables` or have no open
// tickets.
StepGroup StepLedger::TakeHeld(const std::vector<TableKey>& tables) {
  StepGroup group;
  for (auto held = held_.begin(); held != held_.end();) {
    const bool is_asked =
        std::find(tables.begin(), tables.end(), held->first) != tables.end();
    if (!is_asked && open_by_table_[held->first] > 0) {
      ++held;
      continue;
    }
    group.push_back(std::move(held->second));
    held = held_.erase(held);
  }
  return group;
}

}  // namespace persia
