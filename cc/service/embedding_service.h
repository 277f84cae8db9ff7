// EmbeddingService: the one interface between those who need rows and those
// who hold them. A store in this process (LocalService), a client of N servers
// (RemoteService) and whatever a Server hosts are all this, so every role is a
// combination: embedded = ops -> Local; PS shard = Server(Local); trainer =
// ops -> Remote; embedding worker = Server(decorators of Remote), see
// worker_service.h.
//
// Calls are asynchronous: `done` is called exactly once, with the outcome,
// maybe before the call returns and maybe on a thread of the service; it must
// not block. The request, and all memory that its spans refer to, must stay
// alive and untouched until then. No call outlasts its deadline by more than
// scheduling noise.
//
// Thread-safe: calls may be made at once from any thread, also from `done`.
// Destroying a service completes its outstanding calls with kCancelled first;
// no call may be made while or after it is destroyed.

#ifndef PERSIA_CC_SERVICE_EMBEDDING_SERVICE_H_
#define PERSIA_CC_SERVICE_EMBEDDING_SERVICE_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "cc/base/clock.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/service/changes_request.h"
#include "cc/service/checkpoint_request.h"
#include "cc/store/table.h"
#include "cc/store/table_config.h"

namespace persia {

using DoneCallback = std::function<void(Status)>;

// How a bag of ids becomes one vector. kNone: no bags, one vector an id.
enum class Combiner : uint32_t { kNone = 0, kSum = 1, kMean = 2, kSqrtN = 3 };

// The ids of one table in one request. Without bags the ids are unique and
// each stands for one vector. With bags, bag b pools ids
// [bag_offsets[b], bag_offsets[b + 1]), weighted by `weights` if any.
struct TableIds {
  TableKey table = 0;
  uint32_t dim = 0;  // Must be the table's.
  Span<const int64_t> ids;
  Combiner combiner = Combiner::kNone;
  Span<const uint32_t> bag_offsets;  // Number of bags + 1; empty without bags.
  Span<const float> weights;         // One an id, or empty: all 1.

  // Vectors that a lookup yields and an update brings gradients for.
  size_t vectors() const {
    return combiner == Combiner::kNone ? ids.size() : bag_offsets.size() - 1;
  }
};

struct TableLookup {
  TableIds ids;
  Span<float> rows;  // Output: vectors() x dim.
  // Output, with zeros_for_outages: the vectors that no server gave.
  std::vector<uint32_t> unanswered = {};
  // If the request is read-only: what an absent id gets. A pool is of that, and
  // so NaN for what is marked.
  AbsentRows absent = AbsentRows::kDefault;
};

struct LookupRequest {
  Deadline deadline;
  // For evaluation and inference: creates nothing, refreshes nothing, gives an
  // absent id what its TableLookup says.
  bool read_only = false;
  // Who asks, and the newest of its own updates that the rows must reflect: a
  // cache on the way may give rows from before later ones. Client 0: no cache
  // may answer.
  uint64_t client = 0;
  uint64_t visible_sequence = 0;
  // Whether vectors whose server cannot be reached in time become zeros, as
  // long as another one answers. Not passed on to other processes.
  bool zeros_for_outages = false;
  std::vector<TableLookup> tables;

  // Output: the store's generation, which a restore raises. The update that
  // answers this lookup carries it back.
  uint64_t generation = 0;
};

struct TableUpdate {
  TableIds ids;
  Span<const float> gradients;  // vectors() x dim.
  float learning_rate = 0;
  uint32_t step = 0;  // See OptimizerStep.
};

struct UpdateRequest {
  Deadline deadline;
  // Who updates, and a number that this client never used before, rising by 1:
  // an update that arrives twice is applied once. Client 0 asks for no such
  // protection.
  uint64_t client = 0;
  uint64_t sequence = 0;
  uint64_t generation = 0;  // Of the lookup; kFailedPrecondition if it is old.
  std::vector<TableUpdate> tables;

  UpdateCounts counts;  // Output; zeros for an update that was applied before.
};

// What a request about a table asks for. Whoever wants the table opens it; the
// others are for the client of several shards, which has them make their parts
// of it together: see client/create_table_call.h. In each of them a table that
// is there gets the optimizer that it is to have.
enum class OpeningStep : uint32_t {
  kOpen = 0,  // Makes the table, or attaches to it.
  kFind = 1,  // Says what there is of it. Makes nothing; fails as that would.
  kPrepare = 2,  // Makes what there is not of it, which is not complete yet.
  kComplete = 3  // All of it has been prepared.
};

inline constexpr OpeningStep kLastOpeningStep = OpeningStep::kComplete;

// What there is of a table: see TableIdentity.
enum class TableState : uint32_t { kAbsent = 0, kPrepared = 1, kComplete = 2 };

inline constexpr TableState kLastTableState = TableState::kComplete;

struct CreateTableRequest {
  Deadline deadline;
  // An undecided optimizer attaches to a table of any. One that is not decides
  // that of a table whose optimizer is undecided.
  TableConfig config;
  // Whether a table of another optimizer gets that of `config`. Its rows keep
  // their weights, and their state is then that of new rows.
  bool replaces_optimizer = false;
  OpeningStep step = OpeningStep::kOpen;
  // In: of kComplete, what was prepared; of kPrepare, what is not complete yet
  // gets this one, or one of its own if it is 0. Output: that of the table; 0
  // if there is none, or if the service does not say.
  uint64_t identity = 0;

  TableState state = TableState::kAbsent;  // Output.
  uint64_t rows = 0;        // Output: rows that the table already held.
  std::string optimizer;    // Output: the table's, as its Spec's text.
  uint64_t generation = 0;  // Output: as for a lookup.
  // Output: whether the service takes bags of this table, since every id of it
  // is within its reach.
  bool takes_bags = false;
};

// One process's counters since it started.
struct ServiceStats {
  static constexpr uint64_t kNeverComplete = ~uint64_t{0};

  std::string address;  // "host:port", or "embedded".
  uint64_t generation = 0;
  uint64_t lookups = 0;              // Lookup requests.
  uint64_t updates = 0;              // Update requests, repeated ones included.
  uint64_t repeated_updates = 0;     // Recognised as applied before.
  uint64_t bad_frames = 0;           // Connections dropped for what they sent.
  uint64_t refused_connections = 0;  // Without the token, or one too many.
  uint64_t connections = 0;          // Open now.
  // Of a replica: "host:port" of the shard that it follows, and how long ago it
  // had all that had changed there. Empty of others.
  std::string source;
  uint64_t behind_millis = kNeverComplete;
  std::vector<TableStats> tables;
};

struct StatsRequest {
  Deadline deadline;
  std::vector<ServiceStats> processes;  // Output: one a shard.
};

// How far an export of a table has come.
struct ExportCursor {
  uint32_t shard = 0;  // Shards are exported one after the other.
  uint64_t position = Table::kBegin;  // In that shard: Table::Export's cursor.

  // Whether there is nothing left.
  bool at_end() const { return position == Table::kEnd; }
};

struct ExportRequest {
  // About what a page takes at most, whatever `max_rows`.
  static constexpr uint64_t kMostBytes = uint64_t{64} << 20;

  Deadline deadline;
  TableKey table = 0;
  // In: where to begin, or what the last export gave. Output: where to go on.
  ExportCursor cursor;
  // At least 1. A page may hold more by a little, or less, also before the end.
  uint64_t max_rows = 0;

  uint32_t dim = 0;         // Output: weights a row.
  uint32_t state_size = 0;  // Output: state a row.
  RowPage page;             // Output.
};

// Ids should be unique.
struct AssignRequest {
  Deadline deadline;
  TableKey table = 0;
  uint32_t dim = 0;  // Must be the table's.
  // The table's, or 0: the rows then get a new row's state.
  uint32_t state_size = 0;
  Span<const int64_t> ids;
  Span<const float> weights;  // ids.size() x dim.
  Span<const float> state;    // ids.size() x state_size.
};

struct RemoveRequest {
  Deadline deadline;
  TableKey table = 0;
  Span<const int64_t> ids;

  // Output: rows that there were. A request that was sent twice, because the
  // connection broke, does not count what its first arrival removed.
  uint64_t removed = 0;
};

// All rows of a table at once, however many. Who looks rows up or updates them
// later, as if nothing had happened, is told kNotFound if the table itself
// went.
struct DropTableRequest {
  Deadline deadline;
  TableKey table = 0;
  bool stays = false;  // The table, with its settings; only its rows go.
  // Random, not 0. A request that arrives twice, maybe late, when the table was
  // made anew, does nothing the second time.
  uint64_t drop_id = 0;
};

// Whether it says that a server is out of reach, for now, and nothing else.
inline bool IsOutage(const Status& status) {
  return status.code() == Code::kUnavailable ||
         status.code() == Code::kDeadlineExceeded;
}

class EmbeddingService {
 public:
  virtual ~EmbeddingService() = default;

  // kAlreadyExists, showing what differs, if the table has other settings.
  // kFailedPrecondition, naming the shards, if some of them lack the table and
  // others have it whole, or if their parts are of different tables: some have
  // lost theirs.
  virtual void CreateTable(CreateTableRequest* request, DoneCallback done) = 0;

  // On failure the contents of `rows` are undefined.
  virtual void Lookup(LookupRequest* request, DoneCallback done) = 0;

  // On failure some tables or shards may have applied their part; the same
  // (client, sequence) may be sent again and is applied where it was not.
  virtual void Update(UpdateRequest* request, DoneCallback done) = 0;

  virtual void Stats(StatsRequest* request, DoneCallback done) = 0;

  // A row that is there from the first page to the last is on one of them.
  virtual void Export(ExportRequest* request, DoneCallback done) = 0;

  // Sets whole rows, creating those that are absent. On failure some may be
  // set; the same request may be sent again, until somebody updates the rows.
  virtual void Assign(AssignRequest* request, DoneCallback done) = 0;

  // On failure some may be removed; the same request may be sent again.
  virtual void Remove(RemoveRequest* request, DoneCallback done) = 0;

  // Does nothing if there is no such table. On failure some shards may have
  // dropped it; the same request may be sent again.
  virtual void DropTable(DropTableRequest* request, DoneCallback done) = 0;

  // Changes no row, and counts as no use of one. On failure the follower asks
  // again from where it was. kInvalidArgument for a shard that there is not.
  virtual void Changes(ChangesRequest* request, DoneCallback done) = 0;

  virtual void Checkpoint(CheckpointRequest* request, DoneCallback done) = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_EMBEDDING_SERVICE_H_
