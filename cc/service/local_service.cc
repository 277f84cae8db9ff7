#include "cc/service/local_service.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "cc/base/catch_bad_alloc.h"
#include "cc/base/number.h"
#include "cc/service/assign_check.h"
#include "cc/service/pooling.h"
#include "cc/service/update_window.h"
#include "cc/store/store.h"

namespace persia {
namespace {

// Kept by each thread, so that steady work allocates nothing a row.
struct Scratch {
  BagPooler pooler;
  std::vector<float> rows;  // Rows, or their gradients, of unique ids.
};

// Builds the pooler for `ids` and makes room for its unique ids' rows.
Scratch& PoolerOf(const TableIds& ids) {
  thread_local Scratch scratch;
  scratch.pooler.Build(ids);
  scratch.rows.resize(scratch.pooler.unique_ids().size() * ids.dim);
  return scratch;
}

void LookUp(Table* table, bool read_only, const TableLookup& lookup) {
  if (lookup.ids.combiner == Combiner::kNone) {
    table->Lookup(lookup.ids.ids, read_only, lookup.rows);
    return;
  }
  Scratch& scratch = PoolerOf(lookup.ids);
  table->Lookup(scratch.pooler.unique_ids(), read_only, scratch.rows);
  scratch.pooler.Pool(scratch.rows, lookup.rows);
}

UpdateCounts Apply(Table* table, const TableUpdate& update) {
  if (update.ids.combiner == Combiner::kNone) {
    return table->Update(update.ids.ids, update.gradients,
                         update.learning_rate);
  }
  Scratch& scratch = PoolerOf(update.ids);
  scratch.pooler.Unpool(update.gradients, scratch.rows);
  return table->Update(scratch.pooler.unique_ids(), scratch.rows,
                       update.learning_rate);
}

Status CheckIdCount(size_t count) {
  // Places in a batch are 32 bits wide.
  if (count <= std::numeric_limits<uint32_t>::max()) return Status();
  return InvalidArgument("ids must be fewer than 2^32, received ", count);
}

// `what` names the array that brings or takes `floats` of `ids`.
Status CheckIds(const TableIds& ids, const TableConfig& config,
                const char* what, size_t floats) {
  if (ids.dim != config.dim) {
    return InvalidArgument("table \"", config.name, "\" has output_dim ",
                           config.dim, ", received ", ids.dim);
  }
  PERSIA_RETURN_IF_ERROR(CheckIdCount(ids.ids.size()));
  PERSIA_RETURN_IF_ERROR(CheckBags(ids));
  const size_t expected = ids.vectors() * ids.dim;
  if (floats == expected) return Status();
  return InvalidArgument(what, " of table \"", config.name, "\" must hold ",
                         expected, " numbers, received ", floats);
}

// Bounds the memory of an export's page, whatever its rows' size.
constexpr size_t kMaxPageBytes = size_t{64} << 20;

size_t PageRows(const ExportRequest& request) {
  const size_t row_bytes =
      sizeof(int64_t) +
      sizeof(float) * (size_t{request.dim} + request.state_size);
  const size_t most = std::max<size_t>(1, kMaxPageBytes / row_bytes);
  return static_cast<size_t>(std::min<uint64_t>(request.max_rows, most));
}

Status CheckCursor(const ExportRequest& request) {
  if (request.max_rows < 1) {
    return InvalidArgument("max_rows must be at least 1, received 0");
  }
  if (request.cursor.shard == 0) return Status();
  return InvalidArgument("an export of one shard must have shard 0, received ",
                         request.cursor.shard);
}

Status CheckAssign(const AssignRequest& request, const Table& table) {
  const TableConfig& config = table.config();
  if (request.dim != config.dim) {
    return InvalidArgument("table \"", config.name, "\" has output_dim ",
                           config.dim, ", received ", request.dim);
  }
  if (request.state_size != 0 && request.state_size != table.state_size()) {
    return InvalidArgument(
        "a row of table \"", config.name, "\" has ", table.state_size(),
        " numbers of optimizer state, received ", request.state_size);
  }
  return CheckAssignSizes(request);
}

class LocalService : public EmbeddingService {
 public:
  explicit LocalService(const CheckpointOptions& checkpoints)
      : checkpoints_(checkpoints, {&store_, &window_, &gate_, &generation_}) {}

  void CreateTable(CreateTableRequest* request, DoneCallback done) override {
    done(Inside([&] { return DoCreateTable(request); }));
  }

  void Lookup(LookupRequest* request, DoneCallback done) override {
    lookups_.fetch_add(1, std::memory_order_relaxed);
    done(Inside([&] { return DoLookup(request); }));
  }

  void Update(UpdateRequest* request, DoneCallback done) override {
    updates_.fetch_add(1, std::memory_order_relaxed);
    done(Inside([&] { return DoUpdate(request); }));
  }

  void Stats(StatsRequest* request, DoneCallback done) override {
    done(Inside([&] { return DoStats(request); }));
  }

  void Export(ExportRequest* request, DoneCallback done) override {
    done(Inside([&] { return DoExport(request); }));
  }

  void Assign(AssignRequest* request, DoneCallback done) override {
    done(Inside([&] { return DoAssign(*request); }));
  }

  void Remove(RemoveRequest* request, DoneCallback done) override {
    done(Inside([&] { return DoRemove(request); }));
  }

  void Checkpoint(CheckpointRequest* request, DoneCallback done) override {
    done(CatchBadAlloc([&] { return checkpoints_.Do(request); }));
  }

 private:
  // What uses the store, so that nobody takes it away meanwhile.
  template <typename Work>
  Status Inside(const Work& work) {
    const Gate::Pass pass(&gate_);
    return CatchBadAlloc(work);
  }

  Status DoCreateTable(CreateTableRequest* request) {
    const Result<uint64_t> rows = store_.CreateTable(request->config);
    if (!rows.ok()) return rows.status();
    request->rows = *rows;
    request->generation = generation_.load();
    // With more shards a bag's ids may lie elsewhere.
    request->takes_bags = request->config.shard_count <= 1;
    return Status();
  }

  Status DoLookup(LookupRequest* request) {
    std::vector<Table*> tables;
    for (const TableLookup& lookup : request->tables) {
      PERSIA_RETURN_IF_ERROR(
          FindTable(lookup.ids, "rows", lookup.rows.size(), &tables));
    }
    request->generation = generation_.load();
    for (size_t t = 0; t < tables.size(); ++t) {
      LookUp(tables[t], request->read_only, request->tables[t]);
    }
    return Status();
  }

  Status DoUpdate(UpdateRequest* request) {
    request->counts = UpdateCounts();
    std::vector<Table*> tables;
    PERSIA_RETURN_IF_ERROR(CheckUpdate(*request, &tables));
    if (request->client == 0) return ApplyAll(tables, request);
    switch (window_.Begin(request->client, request->sequence)) {
      case UpdateWindow::Verdict::kApply:
        break;
      case UpdateWindow::Verdict::kApplied:
        repeated_updates_.fetch_add(1, std::memory_order_relaxed);
        return Status();
      case UpdateWindow::Verdict::kInProgress:
        return Status(Code::kUnavailable,
                      Concat("update ", request->sequence,
                             " is being applied; ask again for its outcome"));
      case UpdateWindow::Verdict::kTooOld:
        return Status(
            Code::kFailedPrecondition,
            Concat("update ", request->sequence, " is more than ",
                   UpdateWindow::kWindow,
                   " behind its client's newest: whether it was applied is no "
                   "longer known; keep fewer updates in flight"));
    }
    // Running out of memory midway leaves a part applied: after such an error
    // no client asks again by itself.
    const Status status =
        CatchBadAlloc([&] { return ApplyAll(tables, request); });
    window_.Finish(request->client, request->sequence, status.ok());
    return status;
  }

  Status DoStats(StatsRequest* request) {
    ServiceStats stats;
    stats.address = "embedded";
    stats.generation = generation_.load();
    stats.lookups = lookups_.load(std::memory_order_relaxed);
    stats.updates = updates_.load(std::memory_order_relaxed);
    stats.repeated_updates = repeated_updates_.load(std::memory_order_relaxed);
    stats.tables = store_.Stats();
    request->processes.assign(1, std::move(stats));
    return Status();
  }

  Status DoExport(ExportRequest* request) const {
    PERSIA_RETURN_IF_ERROR(CheckCursor(*request));
    const Result<Table*> table = store_.Find(request->table);
    if (!table.ok()) return table.status();
    request->dim = (*table)->config().dim;
    request->state_size = static_cast<uint32_t>((*table)->state_size());
    request->page = RowPage();
    if (request->cursor.at_end()) return Status();
    request->cursor.position = (*table)->Export(
        request->cursor.position, PageRows(*request), &request->page);
    return Status();
  }

  Status DoAssign(const AssignRequest& request) {
    const Result<Table*> table = store_.Find(request.table);
    if (!table.ok()) return table.status();
    PERSIA_RETURN_IF_ERROR(CheckIdCount(request.ids.size()));
    PERSIA_RETURN_IF_ERROR(CheckAssign(request, **table));
    (*table)->Assign(request.ids, request.weights, request.state);
    return Status();
  }

  Status DoRemove(RemoveRequest* request) {
    const Result<Table*> table = store_.Find(request->table);
    if (!table.ok()) return table.status();
    PERSIA_RETURN_IF_ERROR(CheckIdCount(request->ids.size()));
    request->removed = (*table)->Remove(request->ids);
    return Status();
  }

  // Looks at all of the request, so that a bad one changes nothing.
  Status CheckUpdate(const UpdateRequest& request,
                     std::vector<Table*>* tables) const {
    const uint64_t generation = generation_.load();
    if (request.generation != generation) {
      return Status(Code::kFailedPrecondition,
                    Concat("update answers a lookup of generation ",
                           request.generation, ", the store is at ", generation,
                           ": it was restored since; look the rows up again"));
    }
    for (const TableUpdate& update : request.tables) {
      PERSIA_RETURN_IF_ERROR(
          FindTable(update.ids, "gradients", update.gradients.size(), tables));
      if (!std::isfinite(update.learning_rate)) {
        return InvalidArgument("learning_rate must be finite, received ",
                               NumberText(update.learning_rate));
      }
    }
    return Status();
  }

  Status FindTable(const TableIds& ids, const char* what, size_t floats,
                   std::vector<Table*>* tables) const {
    const Result<Table*> table = store_.Find(ids.table);
    if (!table.ok()) return table.status();
    tables->push_back(*table);
    return CheckIds(ids, (*table)->config(), what, floats);
  }

  Status ApplyAll(const std::vector<Table*>& tables, UpdateRequest* request) {
    for (size_t t = 0; t < tables.size(); ++t) {
      const UpdateCounts counts = Apply(tables[t], request->tables[t]);
      request->counts.applied += counts.applied;
      request->counts.nonfinite += counts.nonfinite;
      request->counts.absent += counts.absent;
    }
    return Status();
  }

  Gate gate_;
  Store store_;
  UpdateWindow window_;
  std::atomic<uint64_t> generation_{0};
  std::atomic<uint64_t> lookups_{0};
  std::atomic<uint64_t> updates_{0};
  std::atomic<uint64_t> repeated_updates_{0};
  Checkpoints checkpoints_;
};

}  // namespace

std::unique_ptr<EmbeddingService> MakeLocalService(
    const CheckpointOptions& checkpoints) {
  return std::make_unique<LocalService>(checkpoints);
}

}  // namespace persia
