// EmbeddingService: the one interface between code that needs rows and code
// that holds them. A store in this process (LocalService), a client of N
// servers (RemoteService) and whatever a Server hosts all implement it, so
// every role is a combination: embedded = ops -> Local; PS shard =
// Server(Local); trainer = ops -> Remote; embedding worker = Server(decorators
// of Remote), see worker_service.h.
//
// Calls are asynchronous: `done` is called exactly once, with the outcome,
// possibly before the call returns and possibly on a thread of the service; it
// must not block. The request, and all memory that its spans refer to, must
// stay alive and unmodified until then. No call outlasts its deadline by more
// than scheduling noise.
//
// Thread-safe: calls may be made concurrently from any thread, also from
// `done`. Destroying a service first completes its outstanding calls with
// kCancelled; no call may be made during or after its destruction.

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

// How a bag of ids becomes one vector. kNone: no bags, one vector per id.
enum class Combiner : uint32_t { kNone = 0, kSum = 1, kMean = 2, kSqrtN = 3 };

// The ids of one table in one request. Without bags the ids are unique and each
// yields one vector. With bags, bag b pools the ids at bag_offsets[b] and up
// to, but not including, bag_offsets[b + 1], weighted by `weights` if there are
// any.
struct TableIds {
  TableKey table = 0;
  uint32_t dim = 0;  // Must be the table's.
  Span<const int64_t> ids;
  Combiner combiner = Combiner::kNone;
  Span<const uint32_t> bag_offsets;  // Number of bags + 1; empty without bags.
  Span<const float> weights;         // One per id, or empty: all 1.

  // The number of vectors that a lookup yields, and for which an update carries
  // gradients.
  size_t vectors() const {
    return combiner == Combiner::kNone ? ids.size() : bag_offsets.size() - 1;
  }
};

struct TableLookup {
  TableIds ids;
  Span<float> rows;  // Output: vectors() x dim.
  // Output, with zeros_for_outages: the indices of the vectors that became
  // zeros because their server could not be reached.
  std::vector<uint32_t> unanswered = {};
  // If the request is read-only: what an absent id gets. A pooled vector is
  // computed from these values too, so it is NaN where an id of its bag is
  // marked (kMarked).
  AbsentRows absent = AbsentRows::kDefault;
};

struct LookupRequest {
  Deadline deadline;
  // For evaluation and inference: creates no rows, does not count as a use of a
  // row, and gives an absent id what its TableLookup says.
  bool read_only = false;
  // The client that asks, and the newest of its own updates that the rows must
  // reflect: a cache on the way may answer with rows that lack later updates.
  // Client 0: no cache may answer.
  uint64_t client = 0;
  uint64_t visible_sequence = 0;
  // Whether vectors whose server cannot be reached in time become zeros,
  // provided that at least one other server answers. Not sent to other
  // processes.
  bool zeros_for_outages = false;
  std::vector<TableLookup> tables;

  // Output: the store's generation, which a restore raises. The update that
  // belongs to this lookup sends it back.
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
  // The client that updates, and a number that this client has never used
  // before, rising by 1: an update that arrives twice is applied once. Client
  // 0: updates are not deduplicated.
  uint64_t client = 0;
  uint64_t sequence = 0;
  // That of the lookup; kFailedPrecondition if it is old.
  uint64_t generation = 0;
  std::vector<TableUpdate> tables;

  UpdateCounts counts;  // Output; zeros if the update had been applied before.
};

// Which step of opening a table a request asks for. A program that wants the
// table uses kOpen; the client of several shards sends them the other steps, so
// that they create their parts of the table together: see
// client/create_table_call.h. Each step, kFind included, sets the optimizer of
// an existing table as the request says.
enum class OpeningStep : uint32_t {
  kOpen = 0,  // Creates the table, or attaches to it.
  // Says what this shard has of the table. Creates nothing; fails where kOpen
  // would.
  kFind = 1,
  // Creates this shard's part if it is missing, not yet marked complete.
  kPrepare = 2,
  // All shards have prepared their parts: marks this one complete.
  kComplete = 3
};

inline constexpr OpeningStep kLastOpeningStep = OpeningStep::kComplete;

// What a shard has of a table: see TableIdentity.
enum class TableState : uint32_t { kAbsent = 0, kPrepared = 1, kComplete = 2 };

inline constexpr TableState kLastTableState = TableState::kComplete;

struct CreateTableRequest {
  Deadline deadline;
  // With an undecided optimizer the request attaches to a table that has any
  // optimizer. With a decided one, it sets the optimizer of a table whose own
  // is undecided.
  TableConfig config;
  // Whether a table that has another optimizer gets that of `config`. Its rows
  // then keep their weights, and their optimizer state is reset to that of new
  // rows.
  bool replaces_optimizer = false;
  OpeningStep step = OpeningStep::kOpen;
  // Input: for kComplete, the identity that was prepared; for kPrepare, the
  // identity that a part which is not complete gets, or 0 to draw one. Output:
  // the table's; 0 if there is no table, or if the service does not say.
  uint64_t identity = 0;

  TableState state = TableState::kAbsent;  // Output.
  uint64_t rows = 0;                       // Output: rows that the table holds.
  std::string optimizer;    // Output: the table's, as its Spec's text.
  uint64_t generation = 0;  // Output: as for a lookup.
  // Output: whether the service accepts bags of this table, because it can
  // reach every id of the table.
  bool takes_bags = false;
};

// One process's counters since it started.
struct ServiceStats {
  static constexpr uint64_t kNeverComplete = ~uint64_t{0};

  std::string address;  // "host:port", or "embedded".
  uint64_t generation = 0;
  uint64_t lookups = 0;           // Lookup requests.
  uint64_t updates = 0;           // Update requests, duplicates included.
  uint64_t repeated_updates = 0;  // Recognized as applied before.
  // Connections closed because they sent malformed data.
  uint64_t bad_frames = 0;
  uint64_t refused_connections = 0;  // Without the token, or over the limit.
  uint64_t connections = 0;          // Currently open.
  // For a replica: "host:port" of the shard that it follows, and how long ago
  // it last had every change made there (kNeverComplete: never). Other
  // processes have an empty source and kNeverComplete.
  std::string source;
  uint64_t behind_millis = kNeverComplete;
  std::vector<TableStats> tables;
};

struct StatsRequest {
  Deadline deadline;
  std::vector<ServiceStats> processes;  // Output: one per shard.
};

// How far an export of a table has advanced.
struct ExportCursor {
  uint32_t shard = 0;  // Shards are exported one after the other.
  // Within that shard: Table::Export's cursor.
  uint64_t position = Table::kBegin;

  // Whether the export is complete.
  bool at_end() const { return position == Table::kEnd; }
};

struct ExportRequest {
  // Approximate upper bound of a page's size, whatever `max_rows` is.
  static constexpr uint64_t kMostBytes = uint64_t{64} << 20;

  Deadline deadline;
  TableKey table = 0;
  // Input: where to begin, or the cursor that the last export returned. Output:
  // where to continue.
  ExportCursor cursor;
  // At least 1. A page may hold slightly more rows, or fewer, even before the
  // end.
  uint64_t max_rows = 0;

  uint32_t dim = 0;         // Output: weights per row.
  uint32_t state_size = 0;  // Output: optimizer state per row, in floats.
  RowPage page;             // Output.
};

// Sets whole rows: see EmbeddingService::Assign. The ids should be unique.
struct AssignRequest {
  Deadline deadline;
  TableKey table = 0;
  uint32_t dim = 0;  // Must be the table's.
  // The table's, or 0: the rows then get the optimizer state of a new row.
  uint32_t state_size = 0;
  Span<const int64_t> ids;
  Span<const float> weights;  // ids.size() x dim.
  Span<const float> state;    // ids.size() x state_size.
};

struct RemoveRequest {
  Deadline deadline;
  TableKey table = 0;
  Span<const int64_t> ids;

  // Output: number of rows removed. If the request is sent twice because the
  // connection broke, the second reply does not count the rows that the first
  // arrival removed.
  uint64_t removed = 0;
};

// Removes all rows of a table at once, however many. If the table itself is
// dropped, later lookups and updates of it fail with kNotFound.
struct DropTableRequest {
  Deadline deadline;
  TableKey table = 0;
  bool stays = false;  // Only the rows go; the table, with its settings, stays.
  // Random, not 0. It makes the request idempotent: a second arrival does
  // nothing, even if it is late and the table has been created again.
  uint64_t drop_id = 0;
};

// Whether the status says that a server cannot be reached at present. Other
// errors are no outages.
inline bool IsOutage(const Status& status) {
  return status.code() == Code::kUnavailable ||
         status.code() == Code::kDeadlineExceeded;
}

class EmbeddingService {
 public:
  virtual ~EmbeddingService() = default;

  // kAlreadyExists, showing what differs, if the table has other settings.
  // kFailedPrecondition, naming the shards, if some of them lack the table
  // while others have it complete, or if their parts belong to different
  // tables: some shards have lost theirs.
  virtual void CreateTable(CreateTableRequest* request, DoneCallback done) = 0;

  // On failure the contents of `rows` are undefined.
  virtual void Lookup(LookupRequest* request, DoneCallback done) = 0;

  // On failure some tables or shards may have applied their part. The same
  // (client, sequence) may be sent again: it is applied only where it was not.
  virtual void Update(UpdateRequest* request, DoneCallback done) = 0;

  virtual void Stats(StatsRequest* request, DoneCallback done) = 0;

  // A row that exists from the first page to the last is on one of the pages.
  virtual void Export(ExportRequest* request, DoneCallback done) = 0;

  // Sets whole rows, creating those that are absent. On failure some may be
  // set; the same request may be sent again, as long as no one has updated the
  // rows since.
  virtual void Assign(AssignRequest* request, DoneCallback done) = 0;

  // On failure some rows may be removed; the same request may be sent again.
  virtual void Remove(RemoveRequest* request, DoneCallback done) = 0;

  // Does nothing if there is no such table. On failure some shards may have
  // dropped it; the same request may be sent again.
  virtual void DropTable(DropTableRequest* request, DoneCallback done) = 0;

  // Changes no row, and does not count as a use of one. On failure the follower
  // asks again from its old position. kInvalidArgument if the shard does not
  // exist.
  virtual void Changes(ChangesRequest* request, DoneCallback done) = 0;

  virtual void Checkpoint(CheckpointRequest* request, DoneCallback done) = 0;
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_EMBEDDING_SERVICE_H_
