// Session: a trainer's connection to a cluster, between the TensorFlow ops and
// an EmbeddingService.
//
// The path of a batch: Prefetch may register the batch's ids ahead of its step;
// their rows are then requested as soon as the stream's staleness allows. Issue
// removes duplicate ids and finds the lookup that was sent ahead, or gathers
// the lookups of one step into one request; in training it opens a ticket.
// Fetch copies the rows to the output. Stage adds the gradients of a ticket.
// Commit, which runs only if the optimizer applies the step, takes the
// gradients that a layer staged. Once the step is over, its committed gradients
// become one update of all its tables. A thread of the session sums and pushes
// the update, off the step's critical path. Flush waits for the pushes.
//
// Staleness: when a training batch's rows are requested, at most `staleness`
// earlier steps that update its tables may be unacknowledged. This counts the
// steps that are committed and those that will be committed before the batch is
// used. `staleness` is StreamOptions::staleness for a prefetched batch, and
// SessionOptions::staleness for any other batch. Prefetched rows are checked
// again when they are used, and requested again if more than `staleness`
// updates have been committed since.
//
// The error of a failed push is stored until Flush returns it. Until then every
// lookup, Stage and Commit fails with this error, so that a training step
// reports it.
//
// A session is thread-safe. Only CreateTable, Call, Flush and CloseSession
// block, for as long as the requests that they wait for may take. `done`
// callbacks are called exactly once, on the caller's thread or on a thread of
// the session that is not an I/O thread, so they may run TensorFlow work.

#ifndef PERSIA_CC_PIPELINE_SESSION_H_
#define PERSIA_CC_PIPELINE_SESSION_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cc/base/counters.h"
#include "cc/base/export.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/base/strided_span.h"
#include "cc/client/wire_counters.h"
#include "cc/pipeline/staleness_meter.h"
#include "cc/pipeline/wanted_rows.h"
#include "cc/service/embedding_service.h"
#include "cc/wire/wire_dtype.h"

namespace persia {

// Identifies a training lookup whose gradients are to be staged. 0 means that
// the lookup was not for training.
using Ticket = int64_t;

// The residuals of each table that a program keeps for error feedback: about
// (dim + 8) x 4 bytes each.
inline constexpr uint64_t kResidualRows = uint64_t{1} << 20;

struct SessionOptions {
  double timeout_seconds = 30;  // For each request.
  // The staleness bound for batches that are not prefetched. If it is 0, a
  // commit completes when its update is acknowledged.
  int staleness = 4;
  // How long a lookup that is not prefetched may wait for other lookups of its
  // step to join its request, while the number of these lookups is not known:
  // see LookupGatherer. The default is far below the duration of a step, and
  // far above the time between two lookups of a step. With 0, every lookup is a
  // request of its own.
  double linger_seconds = 0.001;
  // How many rows of each table this process may cache: see CachingService.
  // With 0, there is no cache.
  uint64_t hot_rows = 0;
  // Whether bags may be sent to a service that pools them: see LookupPlanner.
  // This has no effect with hot_rows, since the cache holds rows.
  bool send_bags = false;
  // The dtype on the wire, from which the planner computes the bytes of
  // requests.
  WireDtype wire_dtype = WireDtype::kFloat32;
  // How many residuals of each table error feedback may keep: see
  // FeedbackService. With 0, there is no error feedback; it needs a service
  // whose wire dtype is int4.
  uint64_t residual_rows = 0;
  // The service's traffic counters, if the service is a client of other
  // processes; otherwise null.
  std::shared_ptr<WireCounters> wire;
};

// The counters of a session, with the names that Python's ptf.metrics() uses.
// ptf.metrics() reports a counter of nanoseconds in seconds.
#define PERSIA_SESSION_COUNTERS(COUNTER)                                       \
  COUNTER(staleness_last)   /* Of the newest training batch. */                \
  COUNTER(staleness_max)    /* Of all training batches. */                     \
  COUNTER(lookup_requests)  /* Each for many layers. */                        \
  COUNTER(training_lookups) /* Of layers. */                                   \
  COUNTER(readonly_lookups) /* Of layers. */                                   \
  COUNTER(prefetch_hits)    /* Lookups that used prefetched rows. */           \
  COUNTER(prefetch_stale)   /* Lookups whose prefetched rows were too old. */  \
  COUNTER(prefetch_dropped) /* Prefetched batches that no step claimed. */     \
  COUNTER(lookup_waits)     /* Fetches that had to wait for rows. */           \
  COUNTER(lookup_wait_nanoseconds) /* The sum of those waits. */               \
  COUNTER(committed)               /* Commits with something to push. */       \
  COUNTER(updates)                 /* Update requests acknowledged. */         \
  COUNTER(updates_pending)     /* Updates that are queued or in flight now. */ \
  COUNTER(batches_registered)  /* Prefetched batches that wait now. */         \
  COUNTER(gradients_discarded) /* Staged gradients that no step committed. */  \
  COUNTER(gradients_nonfinite) /* Gradient rows skipped: NaN or infinite. */   \
  COUNTER(gradients_absent)    /* Gradient rows skipped: no such row. */       \
  COUNTER(bytes_out)           /* This and the next four: see WireCounters. */ \
  COUNTER(bytes_in)                                                            \
  COUNTER(requests)                                                            \
  COUNTER(retries)                                                             \
  COUNTER(reconnects)                                                          \
  COUNTER(hot_row_hits)     /* Rows from the cache in this process. */         \
  COUNTER(hot_row_misses)   /* Rows of cached tables, from shards. */          \
  COUNTER(feedback_ids)     /* Ids whose residuals are kept now. */            \
  COUNTER(feedback_dropped) /* Residuals that made room for others. */

struct SessionCounters {
  PERSIA_COUNTERS(PERSIA_SESSION_COUNTERS)
  StalenessHistogram staleness;  // The staleness of training batches.
};

// What a layer looks up in one call. Ids may repeat. With a combiner, the layer
// gets one vector per bag.
struct LayerCall : TableIds {
  std::string layer;            // The layer's name, unique in this process.
  int replica = 0;              // The number of the layer's replica.
  bool training = false;        // Rows may be created; gradients may follow.
  bool model_training = false;  // The model trains; the layer may be frozen.
  // Which rows absent ids get, unless the lookup is for training.
  AbsentRows absent = AbsentRows::kDefault;
};

struct Issued {
  std::shared_ptr<Lookup> lookup;
  Ticket ticket = 0;
};

// Identifies a stream of prefetched batches: see PrefetchStream.
using StreamId = uint64_t;

struct StreamOptions {
  int staleness = 4;
  int replicas = 1;         // How many successive batches belong to one step.
  bool has_copies = false;  // Set by the session: rows may come from a cache.
};

// When a layer looks up rows: in every call of the model, only if the model
// trains, or only if the model does not train.
enum class LookupUse : uint32_t { kAlways = 0, kTraining = 1, kReading = 2 };

// What a layer will look up in a later batch. Ids may repeat.
struct PrefetchIds : TableIds {
  std::string layer;
  bool trainable = true;
  LookupUse use = LookupUse::kAlways;
  AbsentRows absent = AbsentRows::kDefault;  // See LayerCall.
  // These objects keep the ids, offsets and weights alive and unchanged.
  std::vector<std::shared_ptr<const void>> owners;
};

// Gradients of a lookup's output, one per vector, kept alive by `owner`.
struct SharedGradients {
  std::shared_ptr<const void> owner;
  StridedSpan<const float> vectors;
};

class PERSIA_EXPORT Session {
 public:
  virtual ~Session() = default;

  // Creates the table or attaches to it. The session sets the request's
  // deadline. If the service accepts bags of the table, later lookups may send
  // bags.
  virtual Status CreateTable(CreateTableRequest* request) = 0;

  // Begins the lookups of several layers. The ids need to live only until Issue
  // returns. A lookup that is not for training is sent once all earlier
  // committed updates of its table are acknowledged, so that an evaluation
  // reflects these updates. If an error is returned, no lookup was begun.
  virtual Result<std::vector<Issued>> Issue(Span<const LayerCall> calls) = 0;
  Result<Issued> Issue(const LayerCall& call) {
    auto issued = Issue(Span<const LayerCall>(&call, 1));
    if (!issued.ok()) return issued.status();
    return std::move(issued->front());
  }

  // Fills the room for the rows of each lookup once the rows of all lookups
  // have arrived, then calls `done`. The room must live until `done`. May fill
  // it on several threads.
  virtual void Fetch(std::vector<WantedRows> wanted, DoneCallback done) = 0;
  void Fetch(std::shared_ptr<Lookup> lookup, StridedSpan<float> rows,
             DoneCallback done) {
    Fetch({WantedRows{std::move(lookup), rows}}, std::move(done));
  }

  // Opens a prefetch stream. CloseStream ends the stream and drops its
  // registered batches.
  virtual Result<StreamId> OpenStream(const StreamOptions& options) = 0;
  virtual void CloseStream(StreamId stream) = 0;

  // Registers a stream's next batch. Returns at once.
  virtual Status Prefetch(StreamId stream, std::vector<PrefetchIds> layers) = 0;

  // Makes every later Issue, Prefetch and Commit of the layer fail with `why`.
  // Called when the layer's table is dropped, because a later table of the same
  // name must not become the layer's table.
  virtual void Retire(const std::string& layer, const Status& why) = 0;

  // Adds the gradients of the ticket's lookup, for the layer's next Commit.
  // Never blocks.
  virtual Status Stage(const std::string& layer, Ticket ticket,
                       SharedGradients gradients) = 0;

  // Takes the gradients that `layer` staged since its last commit. They become
  // part of an update once the step is over. Commits nothing if no gradients
  // were staged. With a staleness of 0, `done` is called when the updates that
  // this call pushes are acknowledged.
  virtual void Commit(const std::string& layer, OptimizerStep step,
                      DoneCallback done) = 0;

  // Commits several layers, each with a step of its own. `done` gets the first
  // error. It may free the layers and the steps, but not the session.
  void Commit(Span<const std::string> layers, Span<const OptimizerStep> steps,
              DoneCallback done);

  // Blocks until every committed update is acknowledged. Returns and clears the
  // first error since the last flush.
  virtual Status Flush() = 0;

  // The residuals of error feedback, encoded as the contents of files
  // (residual_files.h); none without error feedback. Call Flush first: the
  // residuals of updates under way may be in the files or not.
  virtual Result<std::vector<std::vector<uint8_t>>> SaveResiduals() const = 0;

  // Replaces the residuals by those of a checkpoint that was restored as
  // `generation`. Without error feedback, only checks the files. kDataLoss if a
  // file is damaged; the residuals are then unchanged.
  virtual Status RestoreResiduals(Span<const ConstBytes> files,
                                  uint64_t generation) = 0;

  // See EmbeddingService::MoveShard.
  virtual Status MoveShard(uint32_t shard, const std::string& address) = 0;
  virtual Status MoveAddress(const std::string& from,
                             const std::string& to) = 0;

  virtual SessionCounters Counters() const = 0;

  // Sends a request to the service, with the session's deadline, and blocks
  // until the request is done. Call must not be used for CreateTable, Lookup
  // and Update, for which the session has its own methods. It does not wait for
  // committed updates; for that, call Flush first. It sets the drop_id of a
  // DropTableRequest.
  virtual Status Call(const AnyRequest& request) = 0;
};

// Creates a session. Destroying the session sends the committed updates and
// completes every call. A session must not be destroyed in one of its own
// callbacks.
std::unique_ptr<Session> MakeSession(std::unique_ptr<EmbeddingService> service,
                                     const SessionOptions& options);

// Creates a session and registers it by name, in one registry per process.
// Returns kAlreadyExists if a session of that name is open.
Status OpenSession(const std::string& name,
                   std::unique_ptr<EmbeddingService> service,
                   const SessionOptions& options);
// Returns the open session of that name. If there is none, returns kNotFound
// with a message that tells the user what to do.
PERSIA_EXPORT Result<std::shared_ptr<Session>> FindSession(
    const std::string& name);
// Flushes the session, removes it from the registry, and returns the flush's
// error. The session is destroyed when its last user releases it. Returns
// kNotFound if there is no session of that name.
Status CloseSession(const std::string& name);

}  // namespace persia

#endif  // PERSIA_CC_PIPELINE_SESSION_H_
