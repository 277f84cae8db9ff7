// StepLedger: records which gradients belong to which step, and decides when
// they are pushed.
//
// A training lookup opens a ticket. Staging adds the ticket's gradients. A
// commit means that the optimizer stepped the layer: the commit takes the
// layer's staged gradients and closes the layer's tickets, including those
// without gradients. Gradients that are staged but never committed (the loss
// scaler skipped the step, or the optimizer applied gradients of other weights
// only) are discarded when the layer's next training lookup begins a new step.
//
// Committed gradients are held until no ticket is open, that is, until the step
// is over. Then they are released, that is, given to the caller to push, as one
// group: one update for all tables.
//
// A layer that never commits (its output did not reach the loss) leaves its
// ticket open. Three calls therefore release held tables earlier:
// - The next training lookup of a held table releases that table and every
//   other held table without open tickets.
// - Release does the same for the held tables among its arguments.
// - ReleaseAll releases all held tables.
// Apart from these calls, a table is held while another layer that shares it
// may still commit, since all gradients of one table within one step must be
// summed before the optimizer updates its rows. (If another thread makes such a
// call between the commits of a step, because it flushes or evaluates the
// table, the step becomes two updates.)
//
// A layer has the same name in every replica; a lookup of a replica discards
// only the gradients of that replica.
//
// The ledger is thread-safe and holds a lock only for a short time.

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
#include "cc/pipeline/lookup.h"
#include "cc/pipeline/session.h"

namespace persia {

struct StagedGradients {
  std::shared_ptr<const LookupPlan> plan;
  SharedGradients gradients;
};

// One table's gradients of one step.
struct TableStep {
  TableKey table = 0;
  uint32_t dim = 0;
  float learning_rate = 0;
  uint32_t step = 0;  // The step's number: see OptimizerStep.
  std::vector<StagedGradients> parts;
};

// The tables of a step, which become one update.
using StepGroup = std::vector<TableStep>;

// Most methods are noexcept. They allocate little; if an allocation fails, the
// program ends, since otherwise a step could be applied only partly, or a
// caller could wait forever.
class StepLedger {
 public:
  // A layer has at most this many open tickets; beyond that, its oldest ticket
  // is closed.
  static constexpr size_t kMaxOpenTickets = 64;

  struct Opened {
    Ticket ticket = 0;
    StepGroup released;
  };

  struct Committed {
    bool took_any = false;  // Whether anything was staged.
    StepGroup released;
  };

  // Opens a ticket for a training lookup, and releases held tables that may be
  // pushed now.
  Opened Open(std::shared_ptr<const LookupPlan> plan) noexcept;

  // Stages a ticket's gradients. A ticket of 0 (the lookup was not for
  // training), or a ticket that is staged twice, makes the layer's next commit
  // fail. Returns kInvalidArgument if the gradients do not have the size of the
  // lookup's output, and kFailedPrecondition if the ticket is closed.
  Status Stage(const std::string& layer, Ticket ticket,
               SharedGradients gradients) noexcept;

  // Commits the gradients that `layer` staged, and releases the tables that may
  // be pushed now. On failure, discards the staged gradients.
  Result<Committed> Commit(const std::string& layer,
                           OptimizerStep step) noexcept;

  // If any of `tables` is held, releases the held tables among `tables`, and
  // also every other held table without open tickets.
  StepGroup Release(const std::vector<TableKey>& tables) noexcept;

  // Releases all held tables.
  StepGroup ReleaseAll();

  // Forgets a stream from which no further batch will come.
  void ForgetStream(uint64_t stream);

  // The number of staged gradients that have been discarded so far.
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
  // All fields below are guarded by mutex_.
  Ticket last_ticket_ = 0;
  std::unordered_map<Ticket, std::shared_ptr<const LookupPlan>> tickets_;
  std::unordered_map<std::string, Layer> layers_;
  std::unordered_map<TableKey, size_t> open_by_table_;
  std::map<TableKey, TableStep> held_;
  // For each stream, the step of its newest ticket.
  std::unordered_map<uint64_t, uint64_t> last_steps_;
  uint64_t discarded_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_STEP_LEDGER_H_
