// StepLedger: which gradients belong to which step, and when they are pushed.
//
// A training lookup opens a ticket. Staging adds the ticket's gradients. A
// commit means that the optimizer stepped the layer: it takes the layer's
// staged gradients and closes the layer's tickets, including those without
// gradients. Gradients that are staged but never committed (the loss scaler
// skipped the step, or the optimizer applied gradients of other weights only)
// are discarded when the layer's next training lookup begins a new step.
//
// Committed gradients are held until no ticket is open, that is, until the step
// is over. Then they are released as one group: one update for all tables. If a
// layer never commits (its output did not reach the loss), the next training
// lookup of a held table releases that table and every other table without open
// tickets; so do Release and ReleaseAll. Otherwise a table is not released
// while another layer that shares it may still commit, since all gradients of
// one table within one step must be summed before the optimizer updates its
// rows. (So if another thread flushes, or evaluates the table, between the
// commits of a step, that step becomes two updates.)
//
// A layer has the same name in every replica; a lookup of a replica discards
// only the gradients of that replica.
//
// Thread-safe; holds a lock only for a short time.

#ifndef PERSIA_CC_PIPELINE_STEP_LEDGER_H_
#define PERSIA_CC_PIPELINE_STEP_LEDGER_H_

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cc/base/status.h"
#include "cc/pipeline/layer_lookup.h"
#include "cc/pipeline/session.h"

namespace persia {

struct StagedGradients {
  std::shared_ptr<const LookupRecord> lookup;
  SharedGradients gradients;
};

// One table's gradients of one step.
struct TableStep {
  TableKey table = 0;
  uint32_t dim = 0;
  float learning_rate = 0;
  uint32_t step = 0;  // See OptimizerStep.
  std::vector<StagedGradients> parts;
};

// The tables of a step, which become one update.
using StepGroup = std::vector<TableStep>;

// Most methods are noexcept: they allocate little, and if that fails the
// program ends, since otherwise a step could be applied partly or be waited for
// forever.
class StepLedger {
 public:
  // The most open tickets of a layer; beyond that, the oldest is closed.
  static constexpr size_t kMaxOpenTickets = 64;

  struct Opened {
    Ticket ticket = 0;
    StepGroup released;
  };

  struct Committed {
    bool took_any = false;  // Whether anything was staged.
    StepGroup released;
  };

  // Begins a training lookup.
  Opened Open(std::shared_ptr<const LookupRecord> lookup) noexcept;

  // Adds a ticket's gradients. A ticket of 0 (the lookup was not for training),
  // or one that is staged twice, makes the layer's next commit fail.
  // kInvalidArgument if the gradients' size is not the lookup's;
  // kFailedPrecondition if the ticket is closed.
  Status Stage(const std::string& layer, Ticket ticket,
               SharedGradients gradients) noexcept;

  // Takes the gradients that `layer` staged, and releases what may be pushed
  // now. On failure, discards the staged gradients.
  Result<Committed> Commit(const std::string& layer,
                           OptimizerStep step) noexcept;

  // If any of `tables` is held, releases those of `tables` that are held and
  // all held tables without open tickets.
  StepGroup Release(const std::vector<TableKey>& tables) noexcept;

  // Releases all held tables.
  StepGroup ReleaseAll();

  // No further batch of the stream will come.
  void ForgetStream(uint64_t stream);

  // The number of staged gradients that have been discarded in all.
  uint64_t discarded() const;

 private:
  struct Layer {
    TableKey table = 0;
    std::deque<Ticket> open;
    std::vector<StagedGradients> staged;
    Status refusal;  // Why the next commit must fail.
  };

  void DiscardStaged(Layer* layer, int replica);
  void DiscardAll(Layer* layer);
  void CloseTicket(Layer* layer, Ticket ticket);
  void CloseTickets(Layer* layer);
  void CloseEarlierSteps(const BatchSlot& slot);
  void Hold(Layer* layer, OptimizerStep step);
  StepGroup ReleaseIfHeld(const std::vector<TableKey>& tables);
  StepGroup TakeHeld(const std::vector<TableKey>& tables);

  mutable std::mutex mutex_;
  // All below: guarded by mutex_.
  Ticket last_ticket_ = 0;
  std::unordered_map<Ticket, std::shared_ptr<const LookupRecord>> tickets_;
  std::unordered_map<std::string, Layer> layers_;
  std::unordered_map<TableKey, size_t> open_by_table_;
  std::map<TableKey, TableStep> held_;
  // By stream: the step of its newest ticket.
  std::unordered_map<uint64_t, uint64_t> last_steps_;
  uint64_t discarded_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_STEP_LEDGER_H_
