#include "cc/shard/local_service.h"

#include <atomic>
#include <optional>
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
#include "cc/shard/load_counts.h"
#include "cc/shard/log_replay.h"
#include "cc/shard/lost_updates.h"
#include "cc/shard/membership.h"
#include "cc/shard/ownership.h"
#include "cc/shard/prepared_slots.h"
#include "cc/shard/replayed_shard.h"
#include "cc/shard/replies.h"
#include "cc/shard/request_checks.h"
#include "cc/shard/shard_stats.h"
#include "cc/shard/slot_moves.h"
#include "cc/shard/standby_feed.h"
#include "cc/shard/table_changer.h"
#include "cc/shard/table_maker.h"
#include "cc/shard/trainers.h"
#include "cc/shard/update_once.h"
#include "cc/shard/whole_row_requests.h"
#include "cc/store/store.h"
#include "cc/writing/direct_writer.h"
#include "cc/writing/journaled_writer.h"
#include "cc/writing/slot_windows.h"
#include "cc/writing/table_calls.h"

namespace persia {
namespace {

LocalServiceOptions WithFiles(LocalServiceOptions options, FileSystem* files) {
  if (options.checkpoints.files == nullptr) options.checkpoints.files = files;
  options.recovery.journal.events = options.events;
  return options;
}

class LocalService : public ReplayedShard {
 public:
  // `member` is the shard's id.
  LocalService(const LocalServiceOptions& options, uint64_t member)
      : checkpoint_files_(FilesWithin(options.checkpoints.root)),
        options_(WithFiles(options, checkpoint_files_.get())),
        windows_(options.events),
        ownership_(member) {}

  // What waits ends first: for slots, and for the standby.
  ~LocalService() override {
    if (moves_ != nullptr) moves_->End();
    acknowledgements_.End(Status(Code::kCancelled, "the shard ends"));
  }

  // Recovers the store and creates the parts of the service. Must be called
  // before any request.
  Status Start() {
    PERSIA_RETURN_IF_ERROR(ReadJournal());
    return Complete();
  }

  // Begins to replay a log, as ReplayedShard says.
  Status StartReplay() {
    PERSIA_RETURN_IF_ERROR(ReadJournal());
    replay_ = std::make_unique<LogReplay>(LogReplay::Subject{
        slots(), journal_.get(), recovery_.get(), options_.events});
    return Status();
  }

  uint64_t position() const override { return journal_->position(); }
  std::optional<uint32_t> last_crc() const override {
    return recovery_->last_crc();
  }
  uint32_t incarnation() const override { return ownership_.incarnation(); }

  Status Replay(const LogRecord& record) override {
    return replay_->Replay(record);
  }

  Status BlockUntilDurable() override {
    return journal_->BlockUntilDurable(journal_->position());
  }

  std::optional<Member> Described() const override {
    const SharedTopology& replaced_by = recovery_->replaced_by();
    if (replaced_by == nullptr) return ownership_.Own();
    return *replaced_by->Find(ownership_.member());
  }

  Status TakePlace(const std::string& address) override {
    replay_ = nullptr;
    PERSIA_RETURN_IF_ERROR(recovery_->TakePlace(address));
    PERSIA_RETURN_IF_ERROR(Complete());
    PERSIA_RETURN_IF_ERROR(membership_->LogAll());
    return BlockUntilDurable();
  }

  Status Complete() {
    if (journal_ != nullptr) PERSIA_RETURN_IF_ERROR(UseJournal());
    if (membership_ == nullptr) MakeMembership();
    // Only after the recovery, which loads all rows even if they exceed these.
    store_.SetLimits(options_.limits);
    const auto requests = [this] { return loads_.requests(); };
    const auto own = [this] {
      return OwnShard{ownership_.member(), ownership_.Name(),
                      ownership_.slots(), membership_->arriving().any(),
                      membership_->given_away()};
    };
    const bool logs =
        journal_ != nullptr && options_.recovery.level == RecoveryLevel::kLog;
    if (logs) {
      writer_ = std::make_unique<JournaledWriter>(journal_.get());
      keeper_ = std::make_unique<BaseKeeper>(BaseKeeper::Subject{
          &store_, &windows_, &gate_, requests, &generation_, journal_.get(),
          options_.events, own,
          [this](const SlotSet& rest) { return membership_->LogAll(rest); }});
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
        &store_, maker_.get(), writer_.get(), &ownership_, checkpoints_.get(),
        &followers_, journal_.get(), options_.events});
    whole_rows_ = std::make_unique<WholeRowRequests>(
        WholeRowRequests::Subject{&store_, &ownership_, writer_.get()});
    update_once_ = std::make_unique<UpdateOnce>(
        UpdateOnce::Subject{&windows_, &ownership_, writer_.get(),
                            &lost_updates_, journal_.get(), options_.events});
    moves_ = std::make_unique<SlotMoves>(
        SlotMoves::Subject{slots(), membership_.get(), &gate_, &generation_,
                           maker_.get(), changer_.get(), writer_.get(),
                           &file_thread_, options_.connect, requests,
                           [this] {
                             if (keeper_ != nullptr) keeper_->Look();
                           },
                           options_.events});
    replies_.emplace(
        Replies::Subject{&gate_, &followers_, moves_.get(), &ownership_,
                         journal_.get(), keeper_.get(), options_.events,
                         options_.acknowledge, &acknowledgements_});
    if (logs) {
      standby_feed_ = std::make_unique<StandbyFeed>(
          StandbyFeed::Subject{journal_.get(), &ownership_, membership_.get(),
                               &acknowledgements_, options_.events});
    }
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
    const Status looked = replies_->Inside([&] {
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
    loads_.CountLookup();
    const auto work = [=](uint64_t* log_end) {
      return DoLookup(request, log_end);
    };
    if (request->read_only) return replies_->AnswerRead(std::move(done), work);
    replies_->AnswerRows(request, std::move(done), work);
  }

  void Update(UpdateRequest* request, DoneCallback done) override {
    loads_.CountUpdate();
    trainers_.OnUpdate(request->trainer);
    replies_->AnswerRows(request, std::move(done), [=](uint64_t* log_end) {
      return DoUpdate(request, log_end);
    });
  }

  void Stats(StatsRequest* request, DoneCallback done) override {
    done(replies_->Inside([&] { return DoStats(request); }));
  }

  void Export(ExportRequest* request, DoneCallback done) override {
    replies_->AnswerRead(std::move(done), [&](uint64_t* log_end) {
      return whole_rows_->Export(request, log_end);
    });
  }

  // Replies without waiting until the changes are durable. If a crash loses
  // some of them, followers adapt: after the restart each begins again with all
  // rows, and drops those that this shard lost.
  void Changes(ChangesRequest* request, DoneCallback done) override {
    done(replies_->Inside([&] { return DoChanges(request); }));
  }

  void Assign(AssignRequest* request, DoneCallback done) override {
    replies_->AnswerRows(request, std::move(done), [=](uint64_t* log_end) {
      return whole_rows_->Assign(*request, log_end);
    });
  }

  void Remove(RemoveRequest* request, DoneCallback done) override {
    replies_->AnswerRows(request, std::move(done), [=](uint64_t* log_end) {
      return whole_rows_->Remove(request, log_end);
    });
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
    // A standby need not know of it: others tell it.
    if (!status.ok() || log_end == 0) return done(status);
    journal_->WhenDurable(log_end, std::move(done));
  }

  void HandOver(HandOverRequest* request, DoneCallback done) override {
    moves_->HandOver(request, std::move(done));
  }

  void Move(MoveRequest* request, DoneCallback done) override {
    moves_->Move(request, std::move(done));
  }

  void Standby(StandbyRequest* request, DoneCallback done) override {
    if (standby_feed_ != nullptr) {
      return standby_feed_->Do(request, std::move(done));
    }
    done(Status(Code::kFailedPrecondition,
                "a shard has a standby only if it has a recovery folder and "
                "--recovery log"));
  }

  void SlotLoads(SlotLoadsRequest* request, DoneCallback done) override {
    done(CatchBadAlloc([&] { return loads_.Tell(request); }));
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

  Status ReadJournal() {
    if (options_.recovery.journal.folder.empty()) return Status();
    recovery_ = std::make_unique<Recovery>(
        options_.recovery.level, options_.checkpoints,
        Recovery::Subject{&generation_, slots()});
    auto journal = Journal::Open(options_.recovery.journal, recovery_.get());
    if (!journal.ok()) return journal.status();
    journal_ = std::move(*journal);
    journal_->AlsoAwait([this](uint64_t position) {
      return options_.acknowledge == Acknowledge::kSelf
                 ? Status()
                 : BlockUntilAtStandby(position);
    });
    TellTornTail(*journal_, options_.events);
    return Status();
  }

  // Completes the recovery, and begins to write to the log.
  Status UseJournal() {
    const std::unique_ptr<Recovery> recovery = std::move(recovery_);
    PERSIA_RETURN_IF_ERROR(recovery->Finish());
    if (!recovery->needed_checkpoint().empty()) {
      journal_->DemandBase(recovery->needed_checkpoint());
    }
    if (recovery->found()) {
      if (recovery->level() == RecoveryLevel::kCheckpoint) {
        lost_updates_.Start(windows_.Export());
      }
      TellRecovery(*recovery, store_, *journal_, options_.events);
    }
    PERSIA_RETURN_IF_ERROR(
        Append(RecordBody::Opened(options_.recovery.level), journal_.get())
            .status());
    MakeMembership();
    return recovery->found_topology() ? Status() : membership_->LogAll();
  }

  ShardSlots slots() { return {&ownership_, &prepared_, &windows_, &store_}; }

  void MakeMembership() {
    membership_ = std::make_unique<Membership>(Membership::Subject{
        slots(), &gate_, &generation_, journal_.get(),
        [this](const std::function<Status()>& work) {
          return checkpoints_->UnlessRestoring(work);
        },
        [this] { OnMoved(); },
        [this](uint64_t position) { return BlockUntilSafe(position); }});
  }

  void OnMoved() {
    if (checkpoints_ != nullptr) checkpoints_->NoteMove();
    if (moves_ != nullptr) moves_->DelaySweep();
    if (!ownership_.IsReplaced()) return;
    acknowledgements_.End(Ownership::OtherRoute());
  }

  Status BlockUntilSafe(uint64_t position) {
    PERSIA_RETURN_IF_ERROR(journal_->BlockUntilDurable(position));
    return BlockUntilAtStandby(position);
  }

  Status BlockUntilAtStandby(uint64_t position) {
    return ownership_.HasStandby() ? acknowledgements_.BlockUntil(position)
                                   : Status();
  }

  void AddBaseOutcome(CheckpointProgress* progress) const {
    if (keeper_ == nullptr || progress->needed.empty()) return;
    progress->base_outcome = keeper_->failure();
  }

  void OpenTable(CreateTableRequest* request, DoneCallback done) {
    replies_->AnswerLogged(std::move(done), [&](uint64_t* log_end) {
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
    loads_.CountSlots(*request);
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
    loads_.CountSlots(*request);
    return update_once_->Apply(tables, request, log_end);
  }

  Status DoStats(StatsRequest* request) {
    ServiceStats stats;
    stats.address = "embedded";
    stats.role = "shard";
    stats.member = ownership_.member();
    stats.slots = ownership_.slots().count();
    stats.generation = generation_.load();
    loads_.AddTo(&stats);
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

  Status DoChanges(ChangesRequest* request) {
    PERSIA_RETURN_IF_ERROR(CheckShard(*request, ownership_.member()));
    PERSIA_RETURN_IF_ERROR(followers_.Tell(request));
    request->requests = loads_.requests();
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
  LoadCounts loads_;
  // Destroyed in reverse order: each member's destructor ends its outstanding
  // work, which uses the members above it.
  Acknowledgements acknowledgements_;
  std::unique_ptr<Journal> journal_;        // Null without a recovery log.
  std::unique_ptr<Recovery> recovery_;      // Null once it is complete.
  std::unique_ptr<LogReplay> replay_;       // Null unless a log is replayed.
  std::unique_ptr<Membership> membership_;  // The thread of keeper_ uses it.
  std::unique_ptr<TableMaker> maker_;
  std::unique_ptr<RowWriter> writer_;
  std::unique_ptr<WholeRowRequests> whole_rows_;
  std::unique_ptr<UpdateOnce> update_once_;
  std::unique_ptr<BaseKeeper> keeper_;  // Null unless it logs every change.
  std::unique_ptr<Checkpoints> checkpoints_;
  std::unique_ptr<TableChanger> changer_;
  FileThread file_thread_;
  std::unique_ptr<SlotMoves> moves_;
  std::optional<Replies> replies_;
  std::unique_ptr<StandbyFeed> standby_feed_;  // Null unless it has a log.
};

}  // namespace

Result<std::unique_ptr<ReplayedShard>> OpenReplayedShard(
    const LocalServiceOptions& options) {
  LocalServiceOptions of_copy = options;
  of_copy.recovery.journal.is_copy = true;
  // The log names the shard.
  auto shard = std::make_unique<LocalService>(of_copy, /*member=*/0);
  PERSIA_RETURN_IF_ERROR(shard->StartReplay());
  return std::unique_ptr<ReplayedShard>(std::move(shard));
}

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
