#include "cc/pipeline/step_ledger.h"

#include <utility>

namespace persia {
namespace {

Status NotTrainingRefusal(const std::string& layer) {
  return Status(
      Code::kFailedPrecondition,
      Concat("layer '", layer,
             "' was called with training=False, but the optimizer steps it: "
             "its rows were not looked up for training. Call the model with "
             "training=True inside the gradient tape"));
}

Status StagedTwiceRefusal(const std::string& layer) {
  return Status(
      Code::kFailedPrecondition,
      Concat("gradients of one call of layer '", layer,
             "' were computed twice in one step (a persistent tape, or two "
             "tapes over one call), so which of them the optimizer applies is "
             "not known. Call the layer once for each gradient"));
}

}  // namespace

StepLedger::Opened StepLedger::Open(
    std::shared_ptr<const LookupRecord> lookup) {
  std::lock_guard<std::mutex> lock(mutex_);
  Opened opened;
  Layer& layer = layers_[lookup->layer];
  layer.table = lookup->table;
  DiscardStaged(&layer);
  Release(lookup->table, &opened.released);

  opened.ticket = ++last_ticket_;
  layer.open.push_back(opened.ticket);
  ++open_by_table_[lookup->table];
  tickets_[opened.ticket] = std::move(lookup);
  if (layer.open.size() > kMaxOpenTickets) {
    tickets_.erase(layer.open.front());
    layer.open.pop_front();
    --open_by_table_[layer.table];
  }
  return opened;
}

Status StepLedger::Stage(const std::string& layer_name, Ticket ticket,
                         SharedGradients gradients) {
  std::lock_guard<std::mutex> lock(mutex_);
  Layer& layer = layers_[layer_name];
  if (ticket == 0) {
    layer.refusal = NotTrainingRefusal(layer_name);
    return Status();
  }
  const auto found = tickets_.find(ticket);
  if (found == tickets_.end()) {
    return Status(Code::kFailedPrecondition,
                  Concat("layer '", layer_name,
                         "': these gradients belong to a call whose step is "
                         "over. Compute them before the optimizer steps and "
                         "before the layer's next training call"));
  }
  const auto& lookup = found->second;
  const size_t expected = lookup->unique.inverse.size() * lookup->dim;
  if (gradients.values.size() != expected) {
    return InvalidArgument("gradients of layer '", layer_name, "' must have ",
                           expected, " values, as its output had, received ",
                           gradients.values.size());
  }
  if (expected == 0) return Status();
  for (const StagedGradients& part : layer.staged) {
    if (part.lookup == lookup) layer.refusal = StagedTwiceRefusal(layer_name);
  }
  layer.staged.push_back({lookup, std::move(gradients)});
  return Status();
}

Result<StepLedger::Committed> StepLedger::Commit(const std::string& layer_name,
                                                 float learning_rate) {
  std::lock_guard<std::mutex> lock(mutex_);
  Committed committed;
  const auto found = layers_.find(layer_name);
  if (found == layers_.end()) return committed;
  Layer& layer = found->second;
  const Status refusal = std::exchange(layer.refusal, Status());
  if (!refusal.ok()) {
    DiscardStaged(&layer);
    return refusal;
  }
  CloseTickets(&layer);
  committed.took_any = !layer.staged.empty();
  if (committed.took_any) Hold(&layer, learning_rate);
  if (open_by_table_[layer.table] == 0) {
    Release(layer.table, &committed.released);
  }
  return committed;
}

std::vector<TableStep> StepLedger::ReleaseAll() {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<TableStep> released;
  for (auto& entry : std::exchange(held_, Held())) {
    released.push_back(std::move(entry.second));
  }
  return released;
}

uint64_t StepLedger::discarded() const {
  std::lock_guard<std::mutex> lock(mutex_);
  return discarded_;
}

// Staging marks the end of a step's forward pass: if it is still there at the
// next one, the optimizer passed this layer by.
void StepLedger::DiscardStaged(Layer* layer) {
  layer->refusal = Status();
  if (layer->staged.empty()) return;
  CloseTickets(layer);
  discarded_ += layer->staged.size();
  layer->staged.clear();
}

void StepLedger::CloseTickets(Layer* layer) {
  for (const Ticket ticket : layer->open) tickets_.erase(ticket);
  open_by_table_[layer->table] -= layer->open.size();
  layer->open.clear();
}

void StepLedger::Hold(Layer* layer, float learning_rate) {
  TableStep& step = held_[layer->table];
  step.table = layer->table;
  step.dim = layer->staged.front().lookup->dim;
  step.learning_rate = learning_rate;
  for (StagedGradients& part : layer->staged) {
    step.parts.push_back(std::move(part));
  }
  layer->staged.clear();
}

void StepLedger::Release(TableKey table, std::vector<TableStep>* released) {
  const auto found = held_.find(table);
  if (found == held_.end()) return;
  released->push_back(std::move(found->second));
  held_.erase(found);
}

}  // namespace persia
