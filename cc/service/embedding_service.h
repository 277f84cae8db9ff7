// EmbeddingService: the interface between code that needs rows and code that
// stores them. LocalService implements it with a store in this process, and
// RemoteService as a client of N servers; a Server offers an implementation to
// other processes. Every role is a combination of these: embedded mode = ops ->
// Local; PS shard = Server(Local); trainer = ops -> Remote; embedding worker =
// Server(decorators of Remote), see worker_service.h. A decorator overrides the
// calls that it changes, and passes all other calls to the service that it
// decorates (forwarding_service.h).
//
// Calls are asynchronous: `done` is called exactly once, with the outcome,
// possibly before the call returns and possibly on a thread of the service;
// `done` must not block. The request, and all memory that its spans refer to,
// must stay alive and unmodified until `done` is called. No call outlasts its
// deadline by more than scheduling noise.
//
// Thread-safe: calls may be made concurrently from any thread, also from
// `done`. Destroying a service first completes its outstanding calls with
// kCancelled; no call may be made during or after its destruction.

#ifndef PERSIA_CC_SERVICE_EMBEDDING_SERVICE_H_
#define PERSIA_CC_SERVICE_EMBEDDING_SERVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "cc/base/clock.h"
#include "cc/base/slots.h"
#include "cc/base/span.h"
#include "cc/base/status.h"
#include "cc/service/changes_request.h"
#include "cc/service/checkpoint_request.h"
#include "cc/service/files_request.h"
#include "cc/service/hand_over_request.h"
#include "cc/service/move_request.h"
#include "cc/service/service_stats.h"
#include "cc/service/slot_loads_request.h"
#include "cc/service/standby_request.h"
#include "cc/service/topology_request.h"
#include "cc/store/table.h"
#include "cc/store/table_config.h"

namespace persia {

using DoneCallback = std::function<void(Status)>;

// How a bag of ids becomes one vector. kNone: no bags, one vector per id.
enum class Combiner : uint32_t { kNone = 0, kSum = 1, kMean = 2, kSqrtN = 3 };

// The ids of one table in one request. Without bags the ids are unique and each
// yields one vector. With bags, bag b pools the ids at the indices from
// bag_offsets[b] up to, but not including, bag_offsets[b + 1]. `weights`,
// unless empty, are the weights of the ids.
struct TableIds {
  TableKey table = 0;
  uint32_t dim = 0;  // Must equal the table's dim.
  Span<const int64_t> ids;
  Combiner combiner = Combiner::kNone;
  Span<const uint32_t> bag_offsets;  // Number of bags + 1; empty without bags.
  Span<const float> weights;         // One per id, or empty: all 1.
  // Optional, for ids without bags that are grouped by shard: for each shard,
  // the index of its first id, followed by the number of ids; and the
  // fingerprint of the owners by which they were grouped. A client that has
  // these owners at present need not compute each id's shard again; a service
  // ignores both, and they are not sent. Clear them when `ids` changes.
  Span<const uint32_t> shard_starts;
  uint64_t starts_of = 0;

  // The number of vectors that a lookup yields, and for which an update carries
  // gradients.
  size_t vectors() const {
    return combiner == Combiner::kNone ? ids.size() : bag_offsets.size() - 1;
  }
};

struct TableLookup {
  TableIds ids;
  Span<float> rows;  // Output: vectors() x dim.
  // Output if the request has zeros_for_outages: the indices of the vectors
  // that became zeros because their server could not be reached.
  std::vector<uint32_t> unanswered = {};
  // The values that a read-only request gets for an absent id. A pooled vector
  // is computed from these values too, so with kMarked the vector is NaN if an
  // id of its bag is absent, unless the id's weight is 0.
  AbsentRows absent = AbsentRows::kDefault;
};

struct LookupRequest {
  Deadline deadline;
  // For evaluation and inference: creates no rows, does not count as a use of a
  // row, and returns the values of TableLookup::absent for an absent id.
  bool read_only = false;
  // The client that sends the lookup, and the number (`sequence`) of the newest
  // of its updates that the rows must reflect. A cache between the client and
  // the store may answer with rows that lack later updates. For client 0 no
  // cache may answer.
  uint64_t client = 0;
  uint64_t visible_sequence = 0;
  // What the sender knows of the slots that the receiver owns
  // (Topology::RouteOf); 0 if nothing.
  uint64_t route = 0;
  // Whether vectors whose server cannot be reached in time become zeros,
  // provided that at least one other server answers. This flag is not sent to
  // other processes.
  bool zeros_for_outages = false;
  std::vector<TableLookup> tables;

  // Output: the store's generation, which a restore raises. The update that
  // belongs to this lookup must carry the same generation.
  uint64_t generation = 0;
};

struct TableUpdate {
  TableIds ids;
  Span<const float> gradients;  // vectors() x dim.
  float learning_rate = 0;
  uint32_t step = 0;  // The model's step: see OptimizerStep.
  // Output if the update fails: the indices of the vectors that a server has
  // acknowledged nevertheless. Only a client of several servers sets it.
  std::vector<uint32_t> acknowledged = {};
};

// What a program that trains tells of itself with each update, for operators.
struct TrainerState {
  static constexpr size_t kMostProgramBytes = 256;

  std::string program;  // "host:pid"; empty if the client is no such program.
  // How many steps of the program were missing from the rows of its newest
  // training batch.
  uint32_t staleness = 0;
};

struct UpdateRequest {
  Deadline deadline;
  // The client that sends the update, and the update's number, which rises by 1
  // with each update of the client. A shard uses both numbers to recognize an
  // update that arrives twice, and applies it only once. Updates of client 0
  // are not deduplicated.
  uint64_t client = 0;
  uint64_t sequence = 0;
  // The generation that the lookup returned; kFailedPrecondition if the store's
  // generation has changed since.
  uint64_t generation = 0;
  uint64_t route = 0;  // As in LookupRequest.
  TrainerState trainer;
  std::vector<TableUpdate> tables;

  UpdateCounts counts;  // Output; zeros if the update had been applied before.
};

// The steps of opening a table. A program that opens a table requests kOpen.
// The client of several shards sends each shard the other steps, so that all
// shards create their parts of the table together: see
// client/create_table_call.cc. Every step, even kFind, sets the optimizer of an
// existing table as CreateTableRequest demands.
enum class OpeningStep : uint32_t {
  kOpen = 0,  // Creates the table, or attaches to it.
  // Returns the state of this shard's part of the table. Creates nothing; fails
  // where kOpen would fail.
  kFind = 1,
  // Creates this shard's part of the table if it is missing, but does not mark
  // it as complete.
  kPrepare = 2,
  // Marks this shard's part as complete. Sent once all shards have prepared
  // their parts.
  kComplete = 3
};

inline constexpr OpeningStep kLastOpeningStep = OpeningStep::kComplete;

// The state of a shard's part of a table: see TableIdentity.
enum class TableState : uint32_t { kAbsent = 0, kPrepared = 1, kComplete = 2 };

inline constexpr TableState kLastTableState = TableState::kComplete;

struct CreateTableRequest {
  Deadline deadline;
  // The settings of the table. If the optimizer in `config` is undecided, the
  // request attaches to an existing table whatever optimizer the table has. If
  // only the table's optimizer is undecided, the request sets it to the one in
  // `config`.
  TableConfig config;
  // Whether the optimizer of an existing table is replaced by the one in
  // `config`. The rows then keep their weights, but their optimizer state is
  // reset to that of new rows.
  bool replaces_optimizer = false;
  OpeningStep step = OpeningStep::kOpen;
  // Input: for kPrepare, the identity to assign to a part that is not complete,
  // or 0 to draw a random one; for kComplete, the identity that was prepared.
  // Output: the table's identity; 0 if there is no table, or if the service
  // does not report identities.
  uint64_t identity = 0;

  TableState state = TableState::kAbsent;  // Output.
  uint64_t rows = 0;                       // Output: rows that the table holds.
  std::string optimizer;    // Output: the text of the table's optimizer Spec.
  uint64_t generation = 0;  // Output: the store's generation.
  // Output: whether the service accepts bags of this table, because it can
  // reach every id of the table.
  bool takes_bags = false;
};

struct StatsRequest {
  Deadline deadline;
  // Whether only this process is asked, and not the shards that it forwards
  // requests to. This flag is not sent to other processes.
  bool only_own = false;
  std::vector<ServiceStats> processes;  // Output: one entry per shard.
};

// How far an export of a table has advanced.
struct ExportCursor {
  uint32_t shard = 0;  // Shards are exported one after the other.
  // The cursor of Table::Export within that shard.
  uint64_t position = Table::kBegin;
  // Stands for the owners of all slots when the export began; 0 at the
  // beginning.
  uint64_t owners = 0;

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
  // The approximate number of rows per page, at least 1. A page may hold
  // slightly more rows. It may also hold fewer, even if it is not the last
  // page.
  uint64_t max_rows = 0;
  // As in LookupRequest; 0 to export whatever the shard owns.
  uint64_t route = 0;

  uint32_t dim = 0;         // Output: weights per row.
  uint32_t state_size = 0;  // Output: optimizer state per row, in floats.
  RowPage page;             // Output.
};

// Sets whole rows: see EmbeddingService::Assign. The ids should be unique.
struct AssignRequest {
  Deadline deadline;
  TableKey table = 0;
  uint64_t route = 0;  // As in LookupRequest.
  uint32_t dim = 0;    // Must equal the table's dim.
  // Must be the table's state_size, or 0. With 0, the rows get the optimizer
  // state of a new row.
  uint32_t state_size = 0;
  Span<const int64_t> ids;
  Span<const float> weights;  // ids.size() x dim.
  Span<const float> state;    // ids.size() x state_size.
};

struct RemoveRequest {
  Deadline deadline;
  TableKey table = 0;
  uint64_t route = 0;  // As in LookupRequest.
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
  // If true, only the rows are removed; the table, with its settings, stays.
  bool stays = false;
  // Random, not 0. It makes the request idempotent: a second arrival does
  // nothing, even if it is late and the table has been created again.
  uint64_t drop_id = 0;
};

// Whether the status says that a server cannot be reached at present. Other
// errors are not outages.
inline bool IsOutage(const Status& status) {
  return status.code() == Code::kUnavailable ||
         status.code() == Code::kDeadlineExceeded;
}

// A request of any type. The types are in the order of their numbers on the
// wire (wire/message_type.h), so a new type must come last.
using AnyRequest =
    std::variant<CreateTableRequest*, LookupRequest*, UpdateRequest*,
                 StatsRequest*, ExportRequest*, AssignRequest*, RemoveRequest*,
                 CheckpointRequest*, ChangesRequest*, DropTableRequest*,
                 FilesRequest*, TopologyRequest*, HandOverRequest*,
                 MoveRequest*, StandbyRequest*, SlotLoadsRequest*>;

class EmbeddingService {
 public:
  virtual ~EmbeddingService() = default;

  // Creates a table, or attaches to an existing one. Fails with kAlreadyExists
  // if the existing table has other settings; the error shows what differs.
  // Fails with kFailedPrecondition if some shards have lost their parts of the
  // table: some have no part while others have a complete one, or the parts
  // belong to different tables. The error names the shards.
  virtual void CreateTable(CreateTableRequest* request, DoneCallback done) {
    OtherCall(request, std::move(done));
  }

  // On failure the contents of `rows` are undefined.
  virtual void Lookup(LookupRequest* request, DoneCallback done) {
    OtherCall(request, std::move(done));
  }

  // On failure some tables or shards may have applied their part of the update.
  // The update may be sent again with the same client and sequence: it is then
  // applied only where it was not applied before.
  virtual void Update(UpdateRequest* request, DoneCallback done) {
    OtherCall(request, std::move(done));
  }

  virtual void Stats(StatsRequest* request, DoneCallback done) {
    OtherCall(request, std::move(done));
  }

  // Returns one page of a table's rows. A row that exists during the whole
  // export is on one of the pages. kFailedPrecondition if slots have moved to
  // other shards since the export began: it must begin again.
  virtual void Export(ExportRequest* request, DoneCallback done) {
    OtherCall(request, std::move(done));
  }

  // Sets whole rows, creating those that are absent. On failure some rows may
  // be set; the same request may be sent again, unless the rows were updated
  // since.
  virtual void Assign(AssignRequest* request, DoneCallback done) {
    OtherCall(request, std::move(done));
  }

  // On failure some rows may be removed; the same request may be sent again.
  virtual void Remove(RemoveRequest* request, DoneCallback done) {
    OtherCall(request, std::move(done));
  }

  virtual void Checkpoint(CheckpointRequest* request, DoneCallback done) {
    OtherCall(request, std::move(done));
  }

  // Returns the changes of a shard to a follower. Changes no row, and does not
  // count as a use of a row. On failure the follower requests the changes again
  // from its old position. kInvalidArgument if the shard does not exist.
  virtual void Changes(ChangesRequest* request, DoneCallback done) {
    OtherCall(request, std::move(done));
  }

  // Does nothing if there is no such table. On failure some shards may have
  // dropped it; the same request may be sent again.
  virtual void DropTable(DropTableRequest* request, DoneCallback done) {
    OtherCall(request, std::move(done));
  }

  // Reads, writes, lists or removes small files in the folder of a checkpoint:
  // see files_request.h.
  virtual void Files(FilesRequest* request, DoneCallback done) {
    OtherCall(request, std::move(done));
  }

  // Tells a shard of its cluster, and returns what the shard knows.
  virtual void ExchangeTopology(TopologyRequest* request, DoneCallback done) {
    OtherCall(request, std::move(done));
  }

  // Hands slots over to another shard: see hand_over_request.h.
  virtual void HandOver(HandOverRequest* request, DoneCallback done) {
    OtherCall(request, std::move(done));
  }

  // Takes slots over from another shard: see move_request.h.
  virtual void Move(MoveRequest* request, DoneCallback done) {
    OtherCall(request, std::move(done));
  }

  // Copies a shard's log to its standby: see standby_request.h.
  virtual void Standby(StandbyRequest* request, DoneCallback done) {
    OtherCall(request, std::move(done));
  }

  // Tells how busy each slot was: see slot_loads_request.h.
  virtual void SlotLoads(SlotLoadsRequest* request, DoneCallback done) {
    OtherCall(request, std::move(done));
  }

  // Uses `address` ("host:port") for shard number `shard` from now on, because
  // that shard has moved there. Requests that the shard has not answered are
  // sent again, to the new address, until their deadlines. kFailedPrecondition
  // if the service is not a client of shards; kInvalidArgument if there is no
  // such shard, or the address does not parse. Never blocks.
  virtual Status MoveShard(uint32_t /*shard*/, const std::string& /*address*/) {
    return Status(Code::kFailedPrecondition,
                  "the rows are in this process, so no shard can move");
  }

  // The same for the shard that the service knows by the address `from`, of
  // which it may learn later. It may be one that was not listed.
  virtual Status MoveAddress(const std::string& /*from*/,
                             const std::string& /*to*/) {
    return Status(Code::kFailedPrecondition,
                  "the rows are in this process, so no shard can move");
  }

  // The topology that the service has; null if it belongs to no cluster, or is
  // no shard.
  virtual SharedTopology CurrentTopology() const { return nullptr; }

  // By which owners of slots the service splits ids over shards at present;
  // null if it does not split them.
  virtual std::shared_ptr<const SlotOwners> Owners() const { return nullptr; }

  // Calls the method above that takes requests of this type.
  void Call(const AnyRequest& request, DoneCallback done);

 protected:
  // Handles every call that the service does not override.
  virtual void OtherCall(const AnyRequest& /*request*/, DoneCallback done) {
    done(Status(Code::kUnimplemented, "this service does not take this call"));
  }
};

inline void EmbeddingService::Call(const AnyRequest& request,
                                   DoneCallback done) {
  using Service = EmbeddingService;
  constexpr std::tuple kCalls{
      &Service::CreateTable, &Service::Lookup,     &Service::Update,
      &Service::Stats,       &Service::Export,     &Service::Assign,
      &Service::Remove,      &Service::Checkpoint, &Service::Changes,
      &Service::DropTable,   &Service::Files,      &Service::ExchangeTopology,
      &Service::HandOver,    &Service::Move,       &Service::Standby,
      &Service::SlotLoads};
  std::visit(
      [&](auto* typed) {
        using Method = void (Service::*)(decltype(typed), DoneCallback);
        (this->*std::get<Method>(kCalls))(typed, std::move(done));
      },
      request);
}

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_EMBEDDING_SERVICE_H_
