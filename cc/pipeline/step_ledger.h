// StepLedger: which gradients belong to which step, and when they are pushed.
//
// A training lookup opens a ticket. Staging answers it with gradients. A commit
// says that the optimizer stepped the layer: what it staged is taken, tickets
// that got no gradient are closed. What was staged and never committed (the
// loss scaler skipped the step; gradients were taken of other weights only) is
// discarded when the layer's next training lookup begins a new step.
//
// Gradients of one table within one step are summed before the optimizer runs
// on its rows. So a commit is held while another layer on the same table still
// has open tickets; it is released by that layer's commit or, if that never
// comes, by the table's next training lookup or by ReleaseAll.
//
// Thread-safe; never blocks beyond a short lock.

#ifndef PERSIA_CC_PIPELINE_STEP_LEDGER_H_
#define PERSIA_CC_PIPELINE_STEP_LEDGER_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "cc/base/dedupe.h"
#include "cc/base/status.h"
#include "cc/pipeline/session.h"

namespace persia {

// What a lookup asked for; its gradients are for the same ids.
struct LookupRecord {
  std::string layer;
  TableKey table = 0;
  uint32_t dim = 0;
  UniqueIds unique;
  std::atomic<uint64_t> generation{0};  // Known when the rows have come.
};

struct StagedGradients {
  std::shared_ptr<const LookupRecord> lookup;
  SharedGradients gradients;
};

// One table's gradients of one step: what becomes one update of it.
struct TableStep {
  TableKey table = 0;
  uint32_t dim = 0;
  float learning_rate = 0;
  std::vector<StagedGradients> parts;
};

class StepLedger {
 public:
  // A layer's tickets beyond this: the oldest is forgotten.
  static constexpr size_t kMaxOpenTickets = 64;

  struct Opened {
    Ticket ticket = 0;
    std::vector<TableStep> released;
  };

  struct Committed {
    bool took_any = false;  // Whether anything was staged.
    std::vector<TableStep> released;
  };

  // Begins a training lookup.
  Opened Open(std::shared_ptr<const LookupRecord> lookup);

  // Answers a ticket. A ticket of 0 (not a training lookup) and one that is
  // staged twice are remembered, and fail the layer's commit if one comes.
  // kInvalidArgument if the gradients have another size than the lookup;
  // kFailedPrecondition if the ticket is closed.
  Status Stage(const std::string& layer, Ticket ticket,
               SharedGradients gradients);

  // Takes what `layer` staged, and releases what may be pushed now. On failure
  // what was staged is discarded.
  Result<Committed> Commit(const std::string& layer, float learning_rate);

  // What is held back for other layers of its table.
  std::vector<TableStep> ReleaseAll();

  // Staged gradients that were discarded, ever.
  uint64_t discarded() const;

 private:
  struct Layer {
    TableKey table = 0;
    std::deque<Ticket> open;
    std::vector<StagedGradients> staged;
    Status refusal;  // Why the next commit must fail.
  };
  using Held = std::map<TableKey, TableStep>;

  void DiscardStaged(Layer* layer);
  void CloseTickets(Layer* layer);
  void Hold(Layer* layer, float learning_rate);
  void Release(TableKey table, std::vector<TableStep>* released);

  mutable std::mutex mutex_;
  // All below: guarded by mutex_.
  Ticket last_ticket_ = 0;
  std::unordered_map<Ticket, std::shared_ptr<const LookupRecord>> tickets_;
  std::unordered_map<std::string, Layer> layers_;
  std::unordered_map<TableKey, size_t> open_by_table_;
  Held held_;
  uint64_t discarded_ = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_STEP_LEDGER_H_
