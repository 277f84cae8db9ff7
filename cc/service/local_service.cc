#include "cc/service/local_service.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "cc/base/catch_bad_alloc.h"
#include "cc/base/hash.h"
#include "cc/base/number.h"
#include "cc/checkpoint/optimizer_change.h"
#include "cc/files/all_files.h"
#include "cc/optimizer/undecided.h"
#include "cc/service/base_keeper.h"
#include "cc/service/direct_writer.h"
#include "cc/service/file_thread.h"
#include "cc/service/followers.h"
#include "cc/service/gate.h"
#include "cc/service/journaled_writer.h"
#include "cc/service/lost_updates.h"
#include "cc/service/table_calls.h"
#include "cc/service/table_maker.h"
#include "cc/service/update_window.h"
#include "cc/store/store.h"

namespace persia {
namespace {

constexpr EventKind kOptimizers{"optimizers of tables", EventLevel::kInfo, 60};
constexpr EventKind kTablesDropped{"tables dropped or cleared",
                                   EventLevel::kInfo, 60};
constexpr EventKind kNoRoom{"requests refused for want of room",
                            EventLevel::kWarning, 1};
constexpr EventKind kRecoveries{"recoveries", EventLevel::kInfo, 60};
constexpr EventKind kTornLogs{"logs with a part left out", EventLevel::kWarning,
                              60};
constexpr EventKind kLostUpdates{"clients with lost updates",
                                 EventLevel::kWarning, 60};

size_t PageRows(const ExportRequest& request) {
  const size_t row_bytes =
      sizeof(int64_t) +
      sizeof(float) * (size_t{request.dim} + request.state_size);
  const size_t most =
      std::max<size_t>(1, ExportRequest::kMostBytes / row_bytes);
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

LocalServiceOptions WithFiles(LocalServiceOptions options, FileSystem* files) {
  if (options.checkpoints.files == nullptr) options.checkpoints.files = files;
  return options;
}

class LocalService : public EmbeddingService {
 public:
  explicit LocalService(const LocalServiceOptions& options)
      : checkpoint_files_(FilesWithin(options.checkpoints.root)),
        options_(WithFiles(options, checkpoint_files_.get())),
        window_(options.events) {}

  // Must be called first.
  Status Start() {
    PERSIA_RETURN_IF_ERROR(OpenJournal());
    // Set after the recovery: rows that were there before are loaded whatever
    // the limits.
    store_.SetLimits(options_.limits);
    const auto requests = [this] {
      return lookups_.load(std::memory_order_relaxed) +
             updates_.load(std::memory_order_relaxed);
    };
    const bool logs =
        journal_ != nullptr && options_.recovery.level == RecoveryLevel::kLog;
    if (logs) {
      writer_ = std::make_unique<JournaledWriter>(journal_.get());
      keeper_ = std::make_unique<BaseKeeper>(
          BaseKeeper::Subject{&store_, &window_, &gate_, requests, &generation_,
                              journal_.get(), options_.events});
    } else {
      writer_ = std::make_unique<DirectWriter>();
    }
    if (keeper_ != nullptr) keeper_->Look();
    maker_ = std::make_unique<TableMaker>(TableMaker::Subject{
        &store_, &generation_, journal_.get(), options_.events});
    checkpoints_ = std::make_unique<Checkpoints>(
        options_.checkpoints,
        Checkpoints::Subject{&store_, &window_, &gate_, requests, &generation_,
                             journal_.get(), journal_ != nullptr && !logs,
                             options_.events,
                             [this] { followers_.ForgetAll(); }});
    return Status();
  }

  // Closes the gate briefly, and may take long to free the table's memory: so
  // it runs on the file thread.
  void DropTable(DropTableRequest* request, DoneCallback done) override {
    file_thread_.Run(
        request->deadline,
        [this, request] {
          return CatchBadAlloc([&] { return DoDropTable(*request); });
        },
        std::move(done));
  }

  void CreateTable(CreateTableRequest* request, DoneCallback done) override {
    bool changes_optimizer = false;
    const Status looked = Inside([&] {
      changes_optimizer = ChangesOptimizer(*request);
      return Status();
    });
    if (!looked.ok() || !changes_optimizer) {
      return OpenTable(request, std::move(done));
    }
    file_thread_.Run(
        request->deadline,
        [this, request] {
          return CatchBadAlloc([&] { return ChangeOptimizer(*request); });
        },
        [this, request, done = std::move(done)](Status changed) {
          if (!changed.ok()) return done(std::move(changed));
          OpenTable(request, done);
        });
  }

  void Lookup(LookupRequest* request, DoneCallback done) override {
    lookups_.fetch_add(1, std::memory_order_relaxed);
    const auto work = [&](uint64_t* log_end) {
      return DoLookup(request, log_end);
    };
    if (request->read_only) return AnswerRead(std::move(done), work);
    AnswerLogged(std::move(done), work);
  }

  void Update(UpdateRequest* request, DoneCallback done) override {
    updates_.fetch_add(1, std::memory_order_relaxed);
    AnswerLogged(std::move(done),
                 [&](uint64_t* log_end) { return DoUpdate(request, log_end); });
  }

  void Stats(StatsRequest* request, DoneCallback done) override {
    done(Inside([&] { return DoStats(request); }));
  }

  void Export(ExportRequest* request, DoneCallback done) override {
    AnswerRead(std::move(done),
               [&](uint64_t* log_end) { return DoExport(request, log_end); });
  }

  // The reply may contain changes that are not durable yet: after a restart,
  // each follower begins with all rows, and drops those that this shard has
  // lost.
  void Changes(ChangesRequest* request, DoneCallback done) override {
    done(Inside([&] { return DoChanges(request); }));
  }

  void Assign(AssignRequest* request, DoneCallback done) override {
    AnswerLogged(std::move(done), [&](uint64_t* log_end) {
      return DoAssign(*request, log_end);
    });
  }

  void Remove(RemoveRequest* request, DoneCallback done) override {
    AnswerLogged(std::move(done),
                 [&](uint64_t* log_end) { return DoRemove(request, log_end); });
  }

  void Checkpoint(CheckpointRequest* request, DoneCallback done) override {
    const auto work = [this, request] {
      const Status status =
          CatchBadAlloc([&] { return checkpoints_->Do(request); });
      if (request->action == CheckpointAction::kSwap && keeper_ != nullptr) {
        keeper_->LookAtOnce();
      }
      return status;
    };
    if (request->action == CheckpointAction::kProgress) {
      const Status status = work();
      if (status.ok()) AddBaseOutcome(&request->shards.at(0));
      return done(status);
    }
    file_thread_.Run(request->deadline, work, std::move(done));
  }

 private:
  Status OpenJournal() {
    if (options_.recovery.journal.folder.empty()) return Status();
    Recovery recovery(options_.recovery.level, options_.checkpoints,
                      {&store_, &window_, &generation_});
    auto journal = Journal::Open(options_.recovery.journal, &recovery);
    if (!journal.ok()) return journal.status();
    PERSIA_RETURN_IF_ERROR(recovery.Finish());
    journal_ = std::move(*journal);
    if (journal_->torn_tail()) NoteTorn(*journal_->torn_tail());
    if (!recovery.needed_checkpoint().empty()) {
      journal_->DemandBase(recovery.needed_checkpoint());
    }
    if (recovery.found()) NoteRecovery(recovery);
    return Append(RecordBody::Opened(options_.recovery.level), journal_.get())
        .status();
  }

  void AddBaseOutcome(CheckpointProgress* progress) const {
    if (keeper_ == nullptr || progress->needed.empty()) return;
    progress->base_outcome = keeper_->failure();
  }

  void NoteTorn(const TornTail& torn) {
    TellEvent(
        options_.events, kTornLogs, "left out the last ", torn.bytes,
        " bytes of ", torn.path, ", from byte ", torn.offset, " on, in which ",
        torn.records, " records begin; the first would be record ",
        journal_->position(),
        torn.is_given_up
            ? Concat(": --lose-log-from gave them up, and ",
                     torn.segments.size(),
                     " files after it, now beside it by names that begin with "
                     "lost-")
            : std::string(", and a crash tore them before they were "
                          "acknowledged, unless the disk lost what it had"));
  }

  void NoteRecovery(const Recovery& recovery) {
    uint64_t rows = 0;
    for (const TableStats& table : store_.Stats()) rows += table.rows;
    std::string source = "its log";
    if (options_.recovery.level == RecoveryLevel::kCheckpoint) {
      lost_updates_.Start(window_.Export());
      source = recovery.checkpoint().has_value()
                   ? "checkpoint " + recovery.checkpoint()->folder
                   : "no checkpoint, since there is none yet";
    }
    TellEvent(options_.events, kRecoveries, "this shard came back with ",
              store_.All().size(), " tables and ", rows, " rows, from ", source,
              " (read ", journal_->notes(), ")");
  }

  // Runs work(&log_end) inside the gate, and calls `done` once the log is
  // durable up to log_end.
  template <typename Work>
  void AnswerLogged(DoneCallback done, const Work& work) {
    uint64_t log_end = 0;
    Status status = Inside([&] { return work(&log_end); });
    if (keeper_ != nullptr) keeper_->Look();
    if (!status.ok() || log_end == 0) return done(std::move(status));
    journal_->WhenDurable(log_end, std::move(done));
  }

  // The same for work that only reads: it succeeds even if the log has failed
  // and nothing becomes durable any more.
  template <typename Work>
  void AnswerRead(DoneCallback done, const Work& work) {
    uint64_t log_end = 0;
    Status status = Inside([&] { return work(&log_end); });
    if (!status.ok() || log_end == 0) return done(std::move(status));
    journal_->WhenDurable(
        log_end, [done = std::move(done)](const Status&) { done(Status()); });
  }

  // Runs work that uses the store inside the gate, so that no tables are
  // replaced or dropped meanwhile.
  template <typename Work>
  Status Inside(const Work& work) {
    const Gate::Pass pass(&gate_);
    followers_.ForgetIdle();
    const Status status = CatchBadAlloc(work);
    if (status.code() == Code::kResourceExhausted) {
      TellEvent(options_.events, kNoRoom, "refused: ", status.message());
    }
    return status;
  }

  void OpenTable(CreateTableRequest* request, DoneCallback done) {
    AnswerLogged(std::move(done), [&](uint64_t* log_end) {
      return maker_->Do(request, log_end);
    });
  }

  // Whether the table exists, matches the request in all but its optimizer, and
  // must get the request's optimizer.
  bool ChangesOptimizer(const CreateTableRequest& request) const {
    const Result<Table*> held = store_.Find(HashName(request.config.name));
    if (!held.ok() || !request.config.Validate().ok()) return false;
    const Spec& optimizer = (*held)->config().optimizer;
    TableConfig like_held = request.config;
    like_held.optimizer = optimizer;
    return !IsUndecided(request.config.optimizer) &&
           !(request.config.optimizer == optimizer) &&
           (IsUndecided(optimizer) || request.replaces_optimizer) &&
           CheckSameTable((*held)->config(), like_held).ok();
  }

  Status ChangeOptimizer(const CreateTableRequest& request) {
    return checkpoints_->TakeAway(
        [&](bool* taken) { return DoChangeOptimizer(request, taken); });
  }

  Status DoChangeOptimizer(const CreateTableRequest& request, bool* taken) {
    // Another call has changed it.
    if (!ChangesOptimizer(request)) return Status();
    const TableKey key = HashName(request.config.name);
    Table* const held = *store_.Find(key);
    auto changed =
        WithOptimizer(held, request.config.optimizer, store_.meter());
    if (!changed.ok()) return changed.status();
    (*changed)->SetIdentity(held->identity());
    uint64_t log_end = 0;  // Ignored: the table's record comes later.
    writer_->TellTime(held, &log_end);
    PERSIA_RETURN_IF_ERROR(maker_->LogChanged(**changed));
    TellEvent(options_.events, kOptimizers, "table \"", request.config.name,
              "\" is stepped by ", request.config.optimizer.ToString(),
              " from now on, until now by ",
              held->config().optimizer.ToString());
    *taken = true;
    followers_.ForgetAll();
    Store::Tables tables;
    tables[key] = std::move(*changed);
    store_.Replace(&tables);
    return Status();
  }

  Status DoDropTable(const DropTableRequest& request) {
    if (request.drop_id == 0) {
      return InvalidArgument("drop_id must be a random number, received 0");
    }
    std::shared_ptr<Table> dropped;  // Destroyed after the gate opens again.
    uint64_t log_end = 0;
    PERSIA_RETURN_IF_ERROR(checkpoints_->TakeAway([&](bool* taken) {
      const auto table =
          store_.Drop(request.table, request.drop_id, request.stays);
      if (!table.ok()) return table.status();
      dropped = *table;
      if (dropped == nullptr) return Status();
      *taken = true;
      followers_.LetGo(request.table);
      return LogDrop(request, &log_end);
    }));
    if (dropped != nullptr) {
      TellEvent(options_.events, kTablesDropped,
                request.stays ? "cleared" : "dropped", " table \"",
                dropped->config().name, "\" with its ", dropped->Stats().rows,
                " rows");
    }
    return log_end == 0 ? Status() : journal_->BlockUntilDurable(log_end);
  }

  // The drop has already been applied: if it cannot be logged, the log is
  // broken, and nothing later may be logged.
  Status LogDrop(const DropTableRequest& request, uint64_t* log_end) {
    if (journal_ == nullptr) return Status();
    const auto position = Append(RecordBody::Drop(request), journal_.get());
    if (!position.ok()) {
      journal_->Break(position.status());
      return position.status();
    }
    *log_end = *position + 1;
    return Status();
  }

  Status DoLookup(LookupRequest* request, uint64_t* log_end) {
    std::vector<Table*> tables;
    for (const TableLookup& lookup : request->tables) {
      PERSIA_RETURN_IF_ERROR(
          FindTable(lookup.ids, "rows", lookup.rows.size(), &tables));
    }
    request->generation = generation_.load();
    return request->read_only ? writer_->Read(tables, request, log_end)
                              : writer_->Lookup(tables, request, log_end);
  }

  Status DoUpdate(UpdateRequest* request, uint64_t* log_end) {
    request->counts = UpdateCounts();
    std::vector<Table*> tables;
    PERSIA_RETURN_IF_ERROR(CheckUpdate(*request, &tables));
    if (request->client == 0) return writer_->Update(tables, request, log_end);
    NoteLost(*request);
    switch (window_.Begin(request->client, request->sequence)) {
      case UpdateWindow::Verdict::kApply:
        break;
      case UpdateWindow::Verdict::kApplied:
        repeated_updates_.fetch_add(1, std::memory_order_relaxed);
        // If its record is not durable yet, it is before this position.
        if (journal_ != nullptr) *log_end = journal_->position();
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
                   " behind its client's newest, or its client was idle for so "
                   "long that it was forgotten: whether it was applied is no "
                   "longer known; keep fewer updates in flight"));
      case UpdateWindow::Verdict::kTooMany:
        return Status(Code::kResourceExhausted,
                      "this shard has served as many clients as it can tell "
                      "apart, over a million, since it was started: restart it "
                      "from a checkpoint of now");
    }
    // Running out of memory midway leaves the update applied in part; clients
    // do not retry that error by themselves.
    const Status status = CatchBadAlloc(
        [&] { return writer_->Update(tables, request, log_end); });
    window_.Finish(request->client, request->sequence, status.ok());
    return status;
  }

  void NoteLost(const UpdateRequest& request) {
    const uint64_t lost =
        lost_updates_.OnUpdate(request.client, request.sequence);
    if (lost == 0) return;
    TellEvent(options_.events, kLostUpdates, "client ", request.client,
              ": this shard's rows lack up to ", lost,
              " of its updates, which came after the checkpoint");
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

  Status DoExport(ExportRequest* request, uint64_t* log_end) const {
    PERSIA_RETURN_IF_ERROR(CheckCursor(*request));
    const Result<Table*> table = store_.Find(request->table);
    if (!table.ok()) return table.status();
    request->dim = (*table)->config().dim;
    request->state_size = static_cast<uint32_t>((*table)->state_size());
    request->page = RowPage();
    if (request->cursor.at_end()) return Status();
    if (!(*table)->CanExportFrom(request->cursor.position)) {
      return Status(
          Code::kFailedPrecondition,
          Concat("the export began when table \"", (*table)->config().name,
                 "\" had its rows in another order: its shard was restarted, "
                 "or the table was restored or made anew; begin again"));
    }
    request->cursor.position = (*table)->Export(
        request->cursor.position, PageRows(*request), &request->page);
    writer_->TellTime(*table, log_end);
    return Status();
  }

  Status DoChanges(ChangesRequest* request) {
    if (request->shard != 0) {
      return InvalidArgument(
          "changes of one shard must be of shard 0, received ", request->shard);
    }
    PERSIA_RETURN_IF_ERROR(followers_.Tell(request));
    for (const TableChanges& told : request->tables) {
      const Result<Table*> table = store_.Find(HashName(told.config.name));
      if (told.rows.erased.empty() || !table.ok()) continue;
      uint64_t log_end = 0;  // Ignored: see Changes.
      writer_->TellTime(*table, &log_end);
    }
    return Status();
  }

  Status DoAssign(const AssignRequest& request, uint64_t* log_end) {
    const Result<Table*> table = store_.Find(request.table);
    if (!table.ok()) return table.status();
    PERSIA_RETURN_IF_ERROR(CheckIdCount(request.ids.size()));
    PERSIA_RETURN_IF_ERROR(CheckAssign(request, **table));
    return writer_->Assign(*table, request, log_end);
  }

  Status DoRemove(RemoveRequest* request, uint64_t* log_end) {
    const Result<Table*> table = store_.Find(request->table);
    if (!table.ok()) return table.status();
    PERSIA_RETURN_IF_ERROR(CheckIdCount(request->ids.size()));
    return writer_->Remove(*table, request, log_end);
  }

  // Checks the whole request first, so that an invalid one changes nothing.
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
      if (IsUndecided(tables->back()->config().optimizer)) {
        return Status(Code::kFailedPrecondition,
                      Concat("table \"", tables->back()->config().name,
                             "\" has no optimizer yet: it must be decided, by "
                             "CreateTable, before rows are updated"));
      }
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

  const std::shared_ptr<FileSystem> checkpoint_files_;
  const LocalServiceOptions options_;
  Gate gate_;
  Store store_;
  UpdateWindow window_;
  LostUpdates lost_updates_;
  Followers followers_{
      {&store_, [this] { return checkpoints_->known_base(); }}};
  std::atomic<uint64_t> generation_{0};
  std::atomic<uint64_t> lookups_{0};
  std::atomic<uint64_t> updates_{0};
  std::atomic<uint64_t> repeated_updates_{0};
  // Destroyed in reverse order, each with its outstanding work.
  std::unique_ptr<Journal> journal_;  // Or null.
  std::unique_ptr<TableMaker> maker_;
  std::unique_ptr<RowWriter> writer_;
  // Null unless the journal has every change.
  std::unique_ptr<BaseKeeper> keeper_;
  std::unique_ptr<Checkpoints> checkpoints_;
  FileThread file_thread_;
};

}  // namespace

std::unique_ptr<EmbeddingService> MakeLocalService() {
  return std::move(*OpenLocalService({}));
}

Result<std::unique_ptr<EmbeddingService>> OpenLocalService(
    const LocalServiceOptions& options) {
  auto service = std::make_unique<LocalService>(options);
  PERSIA_RETURN_IF_ERROR(service->Start());
  return std::unique_ptr<EmbeddingService>(std::move(service));
}

}  // namespace persia
