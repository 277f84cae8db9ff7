#include "cc/shard/local_service.h"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "cc/base/catch_bad_alloc.h"
#include "cc/base/hash.h"
#include "cc/base/random_bytes.h"
#include "cc/files/all_files.h"
#include "cc/following/followers.h"
#include "cc/saving/base_keeper.h"
#include "cc/saving/checkpoint_files.h"
#include "cc/saving/file_thread.h"
#include "cc/saving/gate.h"
#include "cc/shard/lost_updates.h"
#include "cc/shard/membership.h"
#include "cc/shard/ownership.h"
#include "cc/shard/prepared_slots.h"
#include "cc/shard/request_checks.h"
#include "cc/shard/rows_of_slots.h"
#include "cc/shard/shard_stats.h"
#include "cc/shard/slot_moves.h"
#include "cc/shard/table_changer.h"
#include "cc/shard/table_maker.h"
#include "cc/shard/trainers.h"
#include "cc/shard/update_once.h"
#include "cc/store/store.h"
#include "cc/writing/direct_writer.h"
#include "cc/writing/journaled_writer.h"
#include "cc/writing/slot_windows.h"
#include "cc/writing/table_calls.h"

namespace persia {
namespace {

constexpr EventKind kNoRoom{"requests refused for lack of resources",
                            EventLevel::kWarning, 1};
constexpr EventKind kRecoveries{"recoveries", EventLevel::kInfo, 60};

LocalServiceOptions WithFiles(LocalServiceOptions options, FileSystem* files) {
  if (options.checkpoints.files == nullptr) options.checkpoints.files = files;
  options.recovery.journal.events = options.events;
  return options;
}

class LocalService : public EmbeddingService {
 public:
  // `member` is the shard's id.
  LocalService(const LocalServiceOptions& options, uint64_t member)
      : checkpoint_files_(FilesWithin(options.checkpoints.root)),
        options_(WithFiles(options, checkpoint_files_.get())),
        windows_(options.events),
        ownership_(member) {}

  // Recovers the store and creates the parts of the service. Must be called
  // before any request.
  Status Start() {
    PERSIA_RETURN_IF_ERROR(OpenJournal());
    if (membership_ == nullptr) MakeMembership();
    // The limits apply only after the recovery, which loads all rows even if
    // they exceed the limits.
    store_.SetLimits(options_.limits);
    const auto requests = [this] {
      return lookups_.load(std::memory_order_relaxed) +
             updates_.load(std::memory_order_relaxed);
    };
    const auto own = [this] {
      return OwnShard{ownership_.member(), ownership_.Name(),
                      ownership_.slots(), membership_->arriving().any()};
    };
    const bool logs =
        journal_ != nullptr && options_.recovery.level == RecoveryLevel::kLog;
    if (logs) {
      writer_ = std::make_unique<JournaledWriter>(journal_.get());
      keeper_ = std::make_unique<BaseKeeper>(BaseKeeper::Subject{
          &store_, &windows_, &gate_, requests, &generation_, journal_.get(),
          options_.events, own, [this] { return membership_->LogAll(); }});
    } else {
      writer_ = std::make_unique<DirectWriter>();
    }
    if (keeper_ != nullptr) keeper_->Look();
    maker_ = std::make_unique<TableMaker>(TableMaker::Subject{
        &store_, &generation_, journal_.get(), options_.events, &ownership_});
    checkpoints_ = std::make_unique<Checkpoints>(
        options_.checkpoints,
        Checkpoints::Subject{&store_, &windows_, &gate_, requests, &generation_,
                             journal_.get(), journal_ != nullptr && !logs,
                             options_.events, own,
                             [this] { followers_.ForgetAll(); }});
    changer_ = std::make_unique<TableChanger>(TableChanger::Subject{
        &store_, maker_.get(), writer_.get(), checkpoints_.get(), &followers_,
        journal_.get(), options_.events});
    update_once_ = std::make_unique<UpdateOnce>(
        UpdateOnce::Subject{&windows_, &ownership_, writer_.get(),
                            &lost_updates_, journal_.get(), options_.events});
    moves_ = std::make_unique<SlotMoves>(SlotMoves::Subject{
        slots(), membership_.get(), &gate_, &generation_, maker_.get(),
        writer_.get(), &file_thread_, options_.connect,
        [this] {
          if (keeper_ != nullptr) keeper_->Look();
        },
        options_.events});
    return Status();
  }

  // Dropping a table blocks other requests briefly (it closes the gate) and may
  // take long to free memory, so it runs on the file thread.
  void DropTable(DropTableRequest* request, DoneCallback done) override {
    OnFileThread(
        request->deadline, [=] { return changer_->Drop(*request); },
        std::move(done));
  }

  void CreateTable(CreateTableRequest* request, DoneCallback done) override {
    bool changes_optimizer = false;
    const Status looked = Inside([&] {
      changes_optimizer = changer_->ChangesOptimizer(*request);
      return Status();
    });
    if (!looked.ok() || !changes_optimizer) {
      return OpenTable(request, std::move(done));
    }
    OnFileThread(
        request->deadline, [=] { return changer_->ChangeOptimizer(*request); },
        [this, request, done = std::move(done)](Status changed) {
          if (!changed.ok()) return done(std::move(changed));
          OpenTable(request, done);
        });
  }

  void Lookup(LookupRequest* request, DoneCallback done) override {
    lookups_.fetch_add(1, std::memory_order_relaxed);
    const auto work = [=](uint64_t* log_end) {
      return DoLookup(request, log_end);
    };
    if (request->read_only) return AnswerRead(std::move(done), work);
    AnswerRows(request, std::move(done), work);
  }

  void Update(UpdateRequest* request, DoneCallback done) override {
    updates_.fetch_add(1, std::memory_order_relaxed);
    trainers_.OnUpdate(request->trainer);
    AnswerRows(request, std::move(done),
               [=](uint64_t* log_end) { return DoUpdate(request, log_end); });
  }

  void Stats(StatsRequest* request, DoneCallback done) override {
    done(Inside([&] { return DoStats(request); }));
  }

  void Export(ExportRequest* request, DoneCallback done) override {
    AnswerRead(std::move(done),
               [&](uint64_t* log_end) { return DoExport(request, log_end); });
  }

  // Replies without waiting until the changes are durable. If a crash loses
  // some of them, followers adapt: after the restart each begins again with all
  // rows, and drops those that this shard lost.
  void Changes(ChangesRequest* request, DoneCallback done) override {
    done(Inside([&] { return DoChanges(request); }));
  }

  void Assign(AssignRequest* request, DoneCallback done) override {
    AnswerRows(request, std::move(done),
               [=](uint64_t* log_end) { return DoAssign(*request, log_end); });
  }

  void Remove(RemoveRequest* request, DoneCallback done) override {
    AnswerRows(request, std::move(done),
               [=](uint64_t* log_end) { return DoRemove(request, log_end); });
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

  void ExchangeTopology(TopologyRequest* request, DoneCallback done) override {
    uint64_t log_end = 0;
    const Status status =
        CatchBadAlloc([&] { return membership_->Exchange(request, &log_end); });
    Answer(status, log_end, std::move(done));
  }

  void HandOver(HandOverRequest* request, DoneCallback done) override {
    moves_->HandOver(request, std::move(done));
  }

  void Move(MoveRequest* request, DoneCallback done) override {
    moves_->Move(request, std::move(done));
  }

  SharedTopology CurrentTopology() const override {
    return ownership_.topology();
  }

  void Files(FilesRequest* request, DoneCallback done) override {
    OnFileThread(
        request->deadline,
        [=] { return DoFiles(options_.checkpoints, request); },
        std::move(done));
  }

 private:
  template <typename Work>
  void OnFileThread(Deadline deadline, Work work, DoneCallback done) {
    file_thread_.Run(
        deadline, [work = std::move(work)] { return CatchBadAlloc(work); },
        std::move(done));
  }

  Status OpenJournal() {
    if (options_.recovery.journal.folder.empty()) return Status();
    Recovery recovery(options_.recovery.level, options_.checkpoints,
                      {&generation_, slots()});
    auto journal = Journal::Open(options_.recovery.journal, &recovery);
    if (!journal.ok()) return journal.status();
    PERSIA_RETURN_IF_ERROR(recovery.Finish());
    journal_ = std::move(*journal);
    TellTornTail(*journal_, options_.events);
    if (!recovery.needed_checkpoint().empty()) {
      journal_->DemandBase(recovery.needed_checkpoint());
    }
    if (recovery.found()) NoteRecovery(recovery);
    PERSIA_RETURN_IF_ERROR(
        Append(RecordBody::Opened(options_.recovery.level), journal_.get())
            .status());
    MakeMembership();
    return recovery.found_topology() ? Status() : membership_->LogAll();
  }

  ShardSlots slots() { return {&ownership_, &prepared_, &windows_, &store_}; }

  void MakeMembership() {
    membership_ = std::make_unique<Membership>(
        Membership::Subject{slots(), &gate_, &generation_, journal_.get(),
                            [this](const std::function<Status()>& work) {
                              return checkpoints_->UnlessRestoring(work);
                            },
                            [this] {
                              if (checkpoints_ != nullptr)
                                checkpoints_->NoteMove();
                            }});
  }

  void AddBaseOutcome(CheckpointProgress* progress) const {
    if (keeper_ == nullptr || progress->needed.empty()) return;
    progress->base_outcome = keeper_->failure();
  }

  void NoteRecovery(const Recovery& recovery) {
    uint64_t rows = 0;
    for (const TableStats& table : store_.Stats()) rows += table.rows;
    std::string source = "its log";
    if (options_.recovery.level == RecoveryLevel::kCheckpoint) {
      lost_updates_.Start(windows_.Export());
      source = recovery.checkpoint().has_value()
                   ? "checkpoint " + recovery.checkpoint()->folder
                   : "no checkpoint, since there is none yet";
    }
    TellEvent(options_.events, kRecoveries, "this shard recovered ",
              store_.All().size(), " tables and ", rows, " rows from ", source,
              " (read ", journal_->notes(), ")");
  }

  // Runs work(&log_end) inside the gate, and calls `done` once the log is
  // durable up to the position to which `work` set log_end.
  template <typename Work>
  void AnswerLogged(DoneCallback done, const Work& work) {
    uint64_t log_end = 0;
    const Status status = Inside([&] { return work(&log_end); });
    Answer(status, log_end, std::move(done));
  }

  // As AnswerLogged, for a request for rows, which waits while slots of its ids
  // are held. `work` must not refer to the caller's variables.
  template <typename Request, typename Work>
  void AnswerRows(const Request* request, DoneCallback done, const Work& work) {
    uint64_t log_end = 0;
    bool is_parked = false;
    const Status status = Inside([&] {
      HeldSlots* const held_slots = moves_->held();
      if (held_slots->any()) {
        is_parked = held_slots->Park(
            [&](const SlotSet& held) { return Touches(*request, held); },
            [=] { AnswerRows(request, done, work); });
      }
      return is_parked ? Status() : work(&log_end);
    });
    if (!is_parked) Answer(status, log_end, std::move(done));
  }

  void Answer(const Status& status, uint64_t log_end, DoneCallback done) {
    if (keeper_ != nullptr) keeper_->Look();
    moves_->JoinWhenDue();
    if (!status.ok() || log_end == 0) return done(status);
    journal_->WhenDurable(log_end, std::move(done));
  }

  // As AnswerLogged, for work that only reads: the call succeeds even if the
  // log has failed and can make nothing durable any more.
  template <typename Work>
  void AnswerRead(DoneCallback done, const Work& work) {
    uint64_t log_end = 0;
    Status status = Inside([&] { return work(&log_end); });
    if (!status.ok() || log_end == 0) return done(std::move(status));
    journal_->WhenDurable(
        log_end, [done = std::move(done)](const Status&) { done(Status()); });
  }

  // Runs `work` inside the gate, so that no tables are replaced or dropped
  // while it uses the store.
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

  Status DoLookup(LookupRequest* request, uint64_t* log_end) {
    std::vector<Table*> tables;
    for (const TableLookup& lookup : request->tables) {
      PERSIA_RETURN_IF_ERROR(
          FindTable(store_, lookup.ids, "rows", lookup.rows.size(), &tables));
    }
    PERSIA_RETURN_IF_ERROR(CheckOwned(ownership_, *request));
    request->generation = generation_.load();
    return request->read_only ? writer_->Read(tables, request, log_end)
                              : writer_->Lookup(tables, request, log_end);
  }

  Status DoUpdate(UpdateRequest* request, uint64_t* log_end) {
    request->counts = UpdateCounts();
    std::vector<Table*> tables;
    PERSIA_RETURN_IF_ERROR(
        CheckUpdate(store_, generation_.load(), *request, &tables));
    // The windows tell only of slots that the shard owns: of others, an update
    // with this number may not have been applied.
    PERSIA_RETURN_IF_ERROR(CheckOwned(ownership_, *request));
    return update_once_->Apply(tables, request, log_end);
  }

  Status DoStats(StatsRequest* request) {
    ServiceStats stats;
    stats.address = "embedded";
    stats.role = "shard";
    stats.member = ownership_.member();
    stats.slots = ownership_.slots().count();
    stats.generation = generation_.load();
    stats.lookups = lookups_.load(std::memory_order_relaxed);
    stats.updates = updates_.load(std::memory_order_relaxed);
    stats.repeated_updates = update_once_->repeated();
    stats.lost_updates = lost_updates_.total();
    AddMemoryStats(store_, &stats);
    if (journal_ != nullptr) AddLogStats(*journal_, &stats);
    AddCheckpointStats(*checkpoints_, &stats);
    stats.trainers = trainers_.Stats();
    stats.tables = store_.Stats();
    request->processes.assign(1, std::move(stats));
    return Status();
  }

  Status DoExport(ExportRequest* request, uint64_t* log_end) const {
    PERSIA_RETURN_IF_ERROR(CheckCursor(*request));
    if (request->route != 0 && !ownership_.Knows(request->route)) {
      return Ownership::OtherRoute();
    }
    const Result<Table*> table = store_.Find(request->table);
    if (!table.ok()) {
      // A shard that has joined the cluster has no tables before it has slots.
      if (ownership_.slots().any()) return table.status();
      request->dim = 1;
      request->page = RowPage();
      request->cursor.position = Table::kEnd;
      return Status();
    }
    request->dim = (*table)->config().dim;
    request->state_size = static_cast<uint32_t>((*table)->state_size());
    request->page = RowPage();
    if (request->cursor.at_end()) return Status();
    PERSIA_RETURN_IF_ERROR(CheckOrder(**table, *request));
    request->cursor.position = (*table)->Export(
        request->cursor.position, PageRows(*request), &request->page);
    KeepSlots(ownership_.slots(), request);
    writer_->TellTime(*table, log_end);
    return Status();
  }

  Status DoChanges(ChangesRequest* request) {
    PERSIA_RETURN_IF_ERROR(CheckShard(*request, ownership_.member()));
    PERSIA_RETURN_IF_ERROR(followers_.Tell(request));
    for (const TableChanges& told : request->tables) {
      const Result<Table*> table = store_.Find(HashName(told.config.name));
      if (told.rows.erased.empty() || !table.ok()) continue;
      uint64_t log_end = 0;  // Unused: Changes does not wait for the log.
      writer_->TellTime(*table, &log_end);
    }
    return Status();
  }

  OwnedSlots FollowedSlots() const {
    return options_.followed_slots == nullptr ? ownership_.WithEpochs()
                                              : options_.followed_slots();
  }

  Status DoAssign(const AssignRequest& request, uint64_t* log_end) {
    const Result<Table*> table = store_.Find(request.table);
    if (!table.ok()) return table.status();
    PERSIA_RETURN_IF_ERROR(CheckIdCount(request.ids.size()));
    PERSIA_RETURN_IF_ERROR(CheckOwned(ownership_, request.route, request.ids));
    PERSIA_RETURN_IF_ERROR(CheckAssign(request, **table));
    return writer_->Assign(*table, request, log_end);
  }

  Status DoRemove(RemoveRequest* request, uint64_t* log_end) {
    const Result<Table*> table = store_.Find(request->table);
    if (!table.ok()) return table.status();
    PERSIA_RETURN_IF_ERROR(CheckIdCount(request->ids.size()));
    PERSIA_RETURN_IF_ERROR(
        CheckOwned(ownership_, request->route, request->ids));
    return writer_->Remove(*table, request, log_end);
  }

  const std::shared_ptr<FileSystem> checkpoint_files_;
  const LocalServiceOptions options_;
  Gate gate_;
  Store store_;
  SlotWindows windows_;
  Ownership ownership_;
  PreparedSlots prepared_;  // Guarded by membership_.
  LostUpdates lost_updates_;
  Trainers trainers_;
  Followers followers_{{&store_, [this] { return checkpoints_->known_base(); },
                        [this] { return FollowedSlots(); }}};
  std::atomic<uint64_t> generation_{0};
  std::atomic<uint64_t> lookups_{0};
  std::atomic<uint64_t> updates_{0};
  // Destroyed in reverse order: each member's destructor ends its outstanding
  // work, which uses the members above it.
  std::unique_ptr<Journal> journal_;        // Null without a recovery log.
  std::unique_ptr<Membership> membership_;  // The thread of keeper_ uses it.
  std::unique_ptr<TableMaker> maker_;
  std::unique_ptr<RowWriter> writer_;
  std::unique_ptr<UpdateOnce> update_once_;
  // Null unless the journal records every change (RecoveryLevel::kLog).
  std::unique_ptr<BaseKeeper> keeper_;
  std::unique_ptr<Checkpoints> checkpoints_;
  std::unique_ptr<TableChanger> changer_;
  FileThread file_thread_;
  std::unique_ptr<SlotMoves> moves_;
};

}  // namespace

std::unique_ptr<EmbeddingService> MakeLocalService() {
  return std::move(*OpenLocalService({}));
}

Result<std::unique_ptr<EmbeddingService>> OpenLocalService(
    const LocalServiceOptions& options) {
  const auto member = RandomNonZero();
  if (!member.ok()) return member.status();
  auto service = std::make_unique<LocalService>(options, *member);
  PERSIA_RETURN_IF_ERROR(service->Start());
  return std::unique_ptr<EmbeddingService>(std::move(service));
}

}  // namespace persia
