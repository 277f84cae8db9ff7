// Session: a trainer's end of a cluster, between the ops and a service.
//
// The path of a batch: Lookup removes duplicates, asks the service for unique
// rows, spreads them over the output and, in training, opens a ticket. Stage
// hands the ticket its gradients. Commit, which runs only if the optimizer
// really steps, turns what a layer staged into updates; they are summed and
// pushed by a thread of the session, off the step's critical path. Flush waits
// for them.
//
// A failed push is kept until Flush reports it; until then every Lookup, Stage
// and Commit fails with it, so that a training step sees it.
//
// Thread-safe. Only CreateTable, Stats, Export, Assign, Remove, Flush and Close
// block, for as long as the requests that they wait for may take. `done`
// callbacks are called exactly once, on the caller's thread or on a thread that
// the session lends for it (never on an I/O thread), so they may run TensorFlow
// work.

#ifndef PERSIA_CC_PIPELINE_SESSION_H_
#define PERSIA_CC_PIPELINE_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/export.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/service/embedding_service.h"

namespace persia {

// What a training lookup opens and its gradients answer. 0 is a lookup that
// was not for training.
using Ticket = int64_t;

struct SessionOptions {
  double timeout_seconds = 30;  // Of each request.
  // A table's commits that are not acknowledged: one more waits. 0: a commit
  // completes when it is acknowledged.
  int max_pending_pushes = 4;
};

struct SessionCounters {
  uint64_t training_lookups = 0;
  uint64_t readonly_lookups = 0;
  uint64_t committed = 0;
  uint64_t pushed = 0;
  uint64_t discarded = 0;
  uint64_t nonfinite = 0;
  uint64_t absent = 0;
};

// The ids and the output belong to the caller until `done`.
struct LookupCall {
  std::string layer;  // Unique to a layer object of this process.
  TableKey table = 0;
  uint32_t dim = 0;
  bool training = false;
  Span<const int64_t> ids;  // Duplicates allowed.
  Span<float> rows;         // Output: ids.size() x dim.
};

// Gradients of a lookup's output, ids.size() x dim, kept alive by the pointer.
struct SharedGradients {
  std::shared_ptr<const void> owner;
  Span<const float> values;
};

using TicketCallback = std::function<void(Status, Ticket)>;

class PERSIA_EXPORT Session {
 public:
  virtual ~Session() = default;

  // Makes the table or attaches to it; the number of rows it held.
  virtual Result<uint64_t> CreateTable(const TableConfig& config) = 0;

  // A training lookup waits for room, as a commit does. One that is not for
  // training first waits for all committed updates, so that an evaluation sees
  // what was trained.
  virtual void Lookup(const LookupCall& call, TicketCallback done) = 0;

  // Never blocks.
  virtual Status Stage(const std::string& layer, Ticket ticket,
                       SharedGradients gradients) = 0;

  // Turns what `layer` staged since its last commit into an update. Does
  // nothing if nothing was staged. `done` waits for room, as
  // SessionOptions::max_pending_pushes says.
  virtual void Commit(const std::string& layer, float learning_rate,
                      DoneCallback done) = 0;

  // Waits until every committed update is acknowledged. Returns, and forgets,
  // the first error since the last flush.
  virtual Status Flush() = 0;

  virtual SessionCounters Counters() const = 0;
  virtual Status Stats(std::vector<ServiceStats>* processes) = 0;

  // The service's calls; the deadline is the session's. They do not wait for
  // committed updates: see Flush.
  virtual Status Export(ExportRequest* request) = 0;
  virtual Status Assign(AssignRequest* request) = 0;
  virtual Status Remove(RemoveRequest* request) = 0;
};

// Destroying the session sends what was committed and completes every call. It
// must not happen in a callback of the session.
std::unique_ptr<Session> MakeSession(std::unique_ptr<EmbeddingService> service,
                                     const SessionOptions& options);

// Sessions by name, one registry a process.
Status OpenSession(const std::string& name,
                   std::unique_ptr<EmbeddingService> service,
                   const SessionOptions& options);
// kNotFound, saying what to do, if there is none of that name.
PERSIA_EXPORT Result<std::shared_ptr<Session>> FindSession(
    const std::string& name);
// Flushes, returns its error, and ends the session once its users let go.
// kNotFound if there is none of that name.
Status CloseSession(const std::string& name);

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_SESSION_H_
