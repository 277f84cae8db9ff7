// StepLedger: which gradients belong to which step, and when they are pushed.
//
// A training lookup opens a ticket. Staging answers it with gradients. A commit
// says that the optimizer stepped the layer: what it staged is taken, tickets
// that got no gradient are closed. What was staged and never committed (the
// loss scaler skipped the step; gradients were taken of other weights only) is
// discarded when the layer's next training lookup begins a new step.
//
// What is committed is held until no ticket is open any more, that is, until
// the step is over, and then released as one group: one update for all tables.
// If some layer's commit never comes (its output did not reach the loss), the
// next training lookup of a table that is held releases it and every other
// table without open tickets; so do Release and ReleaseAll. Otherwise a table
// is not released while another layer that shares it may still commit: the
// gradients of one table within one step are summed before the optimizer runs
// on its rows. (So a flush, or an evaluation of the table, in another thread
// amid the commits of a step makes two updates of that step.)
//
// Layers are the same in every replica; a replica discards only its own.
//
// Thread-safe; never blocks beyond a short lock.

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

// What becomes one update: the tables of a step.
using StepGroup = std::vector<TableStep>;

// What it notes of a step is small: without memory for that it ends the
// program, since half of a step would be applied, or waited for.
class StepLedger {
 public:
  // A layer's tickets beyond this: the oldest is forgotten.
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

  // Answers a ticket. A ticket of 0 (not a training lookup) and one that is
  // staged twice are remembered, and fail the layer's commit if one comes.
  // kInvalidArgument if the gradients have another size than the lookup;
  // kFailedPrecondition if the ticket is closed.
  Status Stage(const std::string& layer, Ticket ticket,
               SharedGradients gradients) noexcept;

  // Takes what `layer` staged, and releases what may be pushed now. On failure
  // what was staged is discarded.
  Result<Committed> Commit(const std::string& layer,
                           OptimizerStep step) noexcept;

  // If any of `tables` is held: what is held of them, and of those without open
  // tickets.
  StepGroup Release(const std::vector<TableKey>& tables) noexcept;

  // Everything that is held.
  StepGroup ReleaseAll();

  // No batch of the stream will come any more.
  void ForgetStream(uint64_t stream);

  // Staged gradients that were discarded, ever.
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
  // Of each stream: the step that its newest ticket belongs to.
  std::unordered_map<uint64_t, uint64_t> last_steps_;
  uint64_t discarded_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_STEP_LEDGER_H_
