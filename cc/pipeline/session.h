// Session: a trainer's connection to a cluster, between the ops and a service.
//
// The path of a batch: Prefetch may register its ids ahead, and their rows are
// requested as soon as the stream's staleness allows. Issue removes duplicate
// ids and finds the lookup that was sent ahead, or gathers the lookups of one
// step into one request; in training it opens a ticket. Fetch copies the rows
// to the output. Stage adds the gradients of a ticket. Commit, which runs only
// if the optimizer applies the step, takes the gradients that a layer staged.
// Once the step is over, they become one update of all its tables, which a
// thread of the session sums and pushes, off the step's critical path. Flush
// waits for the pushes.
//
// Staleness: when a training batch's rows are requested, at most `staleness`
// earlier steps that update its tables may be unacknowledged, counting those
// that are committed and those that will be before the batch is used. The bound
// is the stream's for a prefetched batch, and otherwise SessionOptions'.
// Prefetched rows are checked again when they are used, and requested again if
// more updates than the bound have been committed since.
//
// The error of a failed push is stored until Flush returns it; until then every
// lookup, Stage and Commit fails with it, so that a training step reports it.
//
// Thread-safe. Only CreateTable, DropTable, Stats, Export, Assign, Remove,
// Changes, Checkpoint, Flush and CloseSession block, for as long as the
// requests that they wait for may take. `done` callbacks are called exactly
// once, on the caller's thread or on a thread of the session that is not an I/O
// thread, so they may run TensorFlow work.

#ifndef PERSIA_CC_PIPELINE_SESSION_H_
#define PERSIA_CC_PIPELINE_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/export.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/client/wire_counters.h"
#include "cc/pipeline/staleness_meter.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/wire_dtype.h"

namespace persia {

// Identifies a training lookup whose gradients are to be staged. 0: the lookup
// was not for training.
using Ticket = int64_t;

struct SessionOptions {
  double timeout_seconds = 30;  // For each request.
  // The bound for batches that are not prefetched. 0: a commit completes when
  // its update is acknowledged.
  int staleness = 4;
  // How long a lookup that is not prefetched may wait for other lookups of its
  // step to join its request, while their number is not known: see
  // LookupGatherer. The default is far below the time of a step, and far above
  // the time between two lookups of a step. 0: every lookup is a request of its
  // own.
  double linger_seconds = 0.001;
  // Rows of each table that this process may cache: see CachingService. 0:
  // none.
  uint64_t hot_rows = 0;
  // The number of shards or embedding workers that the service splits ids over.
  uint32_t shard_count = 1;
  // Whether bags may go to a service that takes them: see LookupPlanner. Has no
  // effect with hot_rows, since the cache holds rows.
  bool send_bags = false;
  // The dtype on the wire, for the planner's count of bytes.
  WireDtype wire_dtype = WireDtype::kFloat32;
  // The counters of the service's client, if the service is one; else null.
  std::shared_ptr<WireCounters> wire;
};

struct SessionCounters {
  uint64_t training_lookups = 0;
  uint64_t readonly_lookups = 0;
  uint64_t committed = 0;
  uint64_t pushed = 0;
  uint64_t discarded = 0;
  uint64_t nonfinite = 0;
  uint64_t absent = 0;
  uint64_t requests = 0;         // Lookup requests, each for many layers.
  uint64_t prefetched = 0;       // Lookups that used prefetched rows.
  uint64_t stale = 0;            // Lookups whose prefetched rows were too old.
  uint64_t dropped = 0;          // Prefetched batches that no step claimed.
  uint64_t waits = 0;            // Fetches that had to wait for rows.
  uint64_t wait_nanos = 0;       // The sum of those waits.
  uint64_t unacknowledged = 0;   // Updates that are queued or in flight now.
  uint64_t registered = 0;       // Prefetched batches that wait now.
  StalenessHistogram staleness;  // Of training batches.
  uint64_t hot_hits = 0;         // Rows from the cache in this process.
  uint64_t hot_misses = 0;
  // See WireCounters.
  uint64_t bytes_out = 0;
  uint64_t bytes_in = 0;
  uint64_t sent_requests = 0;
  uint64_t retries = 0;
  uint64_t reconnects = 0;
};

// Ids may repeat. With a combiner, the layer gets one vector per bag.
struct LookupCall : TableIds {
  std::string layer;            // Unique to a layer object of this process.
  int replica = 0;              // The layer's replica, in this process.
  bool training = false;        // Rows may be created; gradients may follow.
  bool model_training = false;  // The model trains; the layer may be frozen.
  // The rows of absent ids, unless the lookup is for training.
  AbsentRows absent = AbsentRows::kDefault;
};

class LayerLookup;

struct Issued {
  std::shared_ptr<LayerLookup> lookup;
  Ticket ticket = 0;
};

// A stream of batches that are registered ahead: see PrefetchStream.
using StreamId = uint64_t;

struct StreamOptions {
  int staleness = 4;
  int replicas = 1;         // Successive batches that belong to one step.
  bool has_copies = false;  // Set by the session: rows may come from a cache.
};

// When a layer does a lookup: in every call of the model, only if the model
// trains, or only if it does not.
enum class LookupUse : uint32_t { kAlways = 0, kTraining = 1, kReading = 2 };

// What a layer will look up in a later batch. Ids may repeat.
struct PrefetchIds : TableIds {
  std::string layer;
  bool trainable = true;
  LookupUse use = LookupUse::kAlways;
  AbsentRows absent = AbsentRows::kDefault;  // See LookupCall.
  // Keep ids, offsets and weights alive and unchanged.
  std::vector<std::shared_ptr<const void>> owners;
};

// Gradients of a lookup's output, vectors x dim, kept alive by `owner`.
struct SharedGradients {
  std::shared_ptr<const void> owner;
  Span<const float> values;
};

class PERSIA_EXPORT Session {
 public:
  virtual ~Session() = default;

  // Creates the table or attaches to it; the deadline is the session's. If the
  // service takes bags of the table, later lookups may send bags.
  virtual Status CreateTable(CreateTableRequest* request) = 0;

  // Begins a lookup. The ids need to live only until this returns. A lookup
  // that is not for training is sent once all updates of its table that were
  // committed before are acknowledged, so that an evaluation reflects them.
  virtual Result<Issued> Issue(const LookupCall& call) = 0;

  // Fills `rows` (vectors() x dim, alive until `done`) once the rows have
  // arrived.
  virtual void Fetch(const std::shared_ptr<LayerLookup>& lookup,
                     Span<float> rows, DoneCallback done) = 0;

  // A stream ends with CloseStream, which drops its registered batches.
  virtual Result<StreamId> OpenStream(const StreamOptions& options) = 0;
  virtual void CloseStream(StreamId stream) = 0;

  // Registers a stream's next batch. Returns at once.
  virtual Status Prefetch(StreamId stream, std::vector<PrefetchIds> layers) = 0;

  // From now on every Issue, Prefetch and Commit of the layer fails with `why`.
  // For a layer whose table is dropped: a later table of the same name must not
  // become the layer's.
  virtual void Retire(const std::string& layer, const Status& why) = 0;

  // Adds the gradients of the ticket's lookup, for the layer's next Commit.
  // Never blocks.
  virtual Status Stage(const std::string& layer, Ticket ticket,
                       SharedGradients gradients) = 0;

  // Takes the gradients that `layer` staged since its last commit; they become
  // part of an update once the step is over. Commits nothing if none were
  // staged. With a staleness of 0, `done` is called when the updates that this
  // call pushes are acknowledged.
  virtual void Commit(const std::string& layer, OptimizerStep step,
                      DoneCallback done) = 0;

  // Blocks until every committed update is acknowledged. Returns and clears the
  // first error since the last flush.
  virtual Status Flush() = 0;

  virtual SessionCounters Counters() const = 0;
  virtual Status Stats(std::vector<ServiceStats>* processes) = 0;

  // Calls of the service, with the session's deadline. They do not wait for
  // committed updates: call Flush first.
  virtual Status Export(ExportRequest* request) = 0;
  virtual Status Assign(AssignRequest* request) = 0;
  virtual Status Remove(RemoveRequest* request) = 0;
  // Sets the request's drop_id.
  virtual Status DropTable(DropTableRequest* request) = 0;
  virtual Status Changes(ChangesRequest* request) = 0;
  virtual Status Checkpoint(CheckpointRequest* request) = 0;
};

// Destroying the session sends the committed updates and completes every call.
// It must not be destroyed in one of its own callbacks.
std::unique_ptr<Session> MakeSession(std::unique_ptr<EmbeddingService> service,
                                     const SessionOptions& options);

// Sessions by name, in one registry per process. kAlreadyExists if a session of
// that name is open.
Status OpenSession(const std::string& name,
                   std::unique_ptr<EmbeddingService> service,
                   const SessionOptions& options);
// kNotFound, with a message that says what to do, if there is no session of
// that name.
PERSIA_EXPORT Result<std::shared_ptr<Session>> FindSession(
    const std::string& name);
// Flushes the session, removes it from the registry, and returns the flush's
// error. The session is destroyed when its last user releases it. kNotFound if
// there is no session of that name.
Status CloseSession(const std::string& name);

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_SESSION_H_
