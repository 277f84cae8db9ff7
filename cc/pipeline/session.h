// Session: a trainer's end of a cluster, between the ops and a service.
//
// The path of a batch: Prefetch may register its ids ahead, and their rows are
// asked for as soon as the stream's staleness allows. Issue removes duplicates
// and finds the lookup that was sent ahead, or gathers those of one step into
// one request; in training it opens a ticket. Fetch spreads the rows over the
// output. Stage hands the ticket its gradients. Commit, which runs only if the
// optimizer really steps, takes what a layer staged; once the step is over,
// that becomes one update of all its tables, summed and pushed by a thread of
// the session, off the step's critical path. Flush waits for them.
//
// Staleness: at the moment that a training batch's rows are asked for, at most
// `staleness` earlier steps that update its tables are committed, or will be
// before the batch is used, without their acknowledgement having arrived. It is
// the stream's for a batch that was prefetched, else SessionOptions'. Whatever
// was sent ahead is looked at again when it is used, and asked for anew if more
// updates than that have come in between.
//
// A failed push is kept until Flush reports it; until then every lookup, Stage
// and Commit fails with it, so that a training step sees it.
//
// Thread-safe. Only CreateTable, DropTable, Stats, Export, Assign, Remove,
// Changes, Checkpoint, Flush and Close block, for as long as the requests that
// they wait for may take. `done` callbacks are called exactly once, on the
// caller's thread or on a thread that the session lends for it (never on an I/O
// thread), so they may run TensorFlow work.

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

// What a training lookup opens and its gradients answer. 0 is a lookup that
// was not for training.
using Ticket = int64_t;

struct SessionOptions {
  double timeout_seconds = 30;  // Of each request.
  // Of batches that are not prefetched. 0: a commit completes when it is
  // acknowledged.
  int staleness = 4;
  // How long a lookup that is not prefetched may wait for others of its step
  // to join its request, while it is not known how many will. The default is
  // far below a step, and far above the time between two lookups of one. 0:
  // every lookup leaves alone.
  double linger_seconds = 0.001;
  // Rows of each table that copies in this process may hold: see
  // CachingService. 0: none.
  uint64_t hot_rows = 0;
  // Shards, or workers, that the service splits ids over, if it does.
  uint32_t shard_count = 1;
  // Whether bags may go to a service that takes them, and how numbers travel
  // there, by which it is seen whether they move less: see LookupPlanner. Not
  // with copies here, which are of rows.
  bool send_bags = false;
  WireDtype wire_dtype = WireDtype::kFloat32;
  // What the service's client counts, if it is one; else null.
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
  uint64_t requests = 0;         // Lookup requests, of many layers each.
  uint64_t prefetched = 0;       // Lookups that found what was sent ahead.
  uint64_t stale = 0;            // Lookups whose prefetched rows were too old.
  uint64_t dropped = 0;          // Prefetched batches that no step took.
  uint64_t waits = 0;            // Lookups whose rows had to be waited for.
  uint64_t wait_nanos = 0;       // The sum of those waits.
  uint64_t unacknowledged = 0;   // Updates queued or on their way, now.
  uint64_t registered = 0;       // Prefetched batches that wait, now.
  StalenessHistogram staleness;  // Of training batches.
  uint64_t hot_hits = 0;         // Rows that copies in this process gave.
  uint64_t hot_misses = 0;
  // As WireCounters.
  uint64_t bytes_out = 0;
  uint64_t bytes_in = 0;
  uint64_t sent_requests = 0;
  uint64_t retries = 0;
  uint64_t reconnects = 0;
};

// Ids may repeat. With a combiner, the layer gets a vector a bag.
struct LookupCall : TableIds {
  std::string layer;            // Unique to a layer object of this process.
  int replica = 0;              // Of the layer, in this process.
  bool training = false;        // Rows may be created; gradients may follow.
  bool model_training = false;  // What the layer was told; it may be frozen.
  // Unless it is for training: what absent ids get.
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
  int replicas = 1;         // Successive batches that one step takes.
  bool has_copies = false;  // Set by the session: rows may come from copies.
};

// When a layer makes a lookup: whatever the model is called for, or only if it
// trains, or only if it does not.
enum class LookupUse : uint32_t { kAlways = 0, kTraining = 1, kReading = 2 };

// What a layer will look up in a batch to come. Ids may repeat.
struct PrefetchIds : TableIds {
  std::string layer;
  bool trainable = true;
  LookupUse use = LookupUse::kAlways;
  AbsentRows absent = AbsentRows::kDefault;  // As LookupCall has it.
  // Keep ids, offsets and weights alive and unchanged.
  std::vector<std::shared_ptr<const void>> owners;
};

// Gradients of a lookup's output, vectors x dim, kept alive by the pointer.
struct SharedGradients {
  std::shared_ptr<const void> owner;
  Span<const float> values;
};

class PERSIA_EXPORT Session {
 public:
  virtual ~Session() = default;

  // Makes the table or attaches to it, within a deadline of the session's own.
  // Later lookups of it may send bags, if it takes them.
  virtual Status CreateTable(CreateTableRequest* request) = 0;

  // Begins a lookup. The ids need to live until this returns. One that is not
  // for training is sent once every update of its table is acknowledged that
  // was committed before, so that an evaluation sees what was trained.
  virtual Result<Issued> Issue(const LookupCall& call) = 0;

  // Fills `rows` (vectors() x dim, alive until `done`) once they have come.
  virtual void Fetch(const std::shared_ptr<LayerLookup>& lookup,
                     Span<float> rows, DoneCallback done) = 0;

  // A stream ends with CloseStream; what it registered is then forgotten.
  virtual Result<StreamId> OpenStream(const StreamOptions& options) = 0;
  virtual void CloseStream(StreamId stream) = 0;

  // Registers a stream's next batch. Returns at once.
  virtual Status Prefetch(StreamId stream, std::vector<PrefetchIds> layers) = 0;

  // From now on every Issue, Prefetch and Commit of the layer fails with `why`.
  // For a layer whose table goes: another one of its name is not its own.
  virtual void Retire(const std::string& layer, const Status& why) = 0;

  // Never blocks.
  virtual Status Stage(const std::string& layer, Ticket ticket,
                       SharedGradients gradients) = 0;

  // Takes what `layer` staged since its last commit, which becomes an update
  // once the step is over. Does nothing if nothing was staged. With a staleness
  // of 0, `done` waits for the acknowledgement of what is pushed.
  virtual void Commit(const std::string& layer, OptimizerStep step,
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
  // Gives the request its drop_id.
  virtual Status DropTable(DropTableRequest* request) = 0;
  virtual Status Changes(ChangesRequest* request) = 0;
  virtual Status Checkpoint(CheckpointRequest* request) = 0;
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
