#include "cc/saving/checkpoints.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "cc/base/catch_bad_alloc.h"
#include "cc/base/clock.h"
#include "cc/base/hash.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/checkpoint/store_loader.h"
#include "cc/files/root_path.h"
#include "cc/saving/frozen_store.h"

namespace persia {
namespace {

constexpr EventKind kBegun{"checkpoints were begun", EventLevel::kInfo, 60};
constexpr EventKind kEnded{"checkpoints ended", EventLevel::kInfo, 60};
constexpr EventKind kFailed{"checkpoints failed", EventLevel::kError, 60};

// Computes a table's identity from the checkpoint and the generation alone, so
// that all shards that restore the checkpoint give the table the same identity.
TableIdentity RestoredIdentity(const RestoreRecord& from, TableKey table) {
  const uint64_t restore = Mix64(from.shard.save_id ^ Mix64(from.generation));
  const uint64_t number = Mix64(restore ^ table);
  return {number == 0 ? 1 : number, true};
}

}  // namespace

Status Checkpoints::Do(CheckpointRequest* request) {
  request->shards.clear();
  if (request->action == CheckpointAction::kForget) {
    Forget(request->save_id);
    return Status();
  }
  if (request->action == CheckpointAction::kProgress) {
    request->shards.assign(1, Progress(request->save_id));
    return Status();
  }
  PERSIA_RETURN_IF_ERROR(options_.CheckRoot());
  switch (request->action) {
    case CheckpointAction::kSwap:
      return Swap(*request);
    case CheckpointAction::kRestore:
      return Restore(*request);
    case CheckpointAction::kCommit:
      return Commit(*request);
    case CheckpointAction::kSave:
      return Save(*request);
    default:
      return InvalidArgument("unknown checkpoint action ",
                             static_cast<uint32_t>(request->action));
  }
}

void Checkpoints::Forget(uint64_t save_id) {
  if (save_id == 0 || job_.Is({CheckpointAction::kSave, save_id}) ||
      job_.Is({CheckpointAction::kRestore, save_id})) {
    job_.Forget();
    std::lock_guard<std::mutex> lock(starting_);
    loaded_ = Loaded();
  }
}

CheckpointProgress Checkpoints::Progress(uint64_t save_id) const {
  CheckpointProgress progress = job_.Progress(save_id);
  const OwnShard own = subject_.own();
  if (progress.file.empty()) progress.file = own.file;
  if (progress.state == CheckpointProgress::State::kIdle) {
    progress.slots = own.slots;
  }
  progress.base_id = chain_.Base(own.slots);
  if (subject_.journal != nullptr) {
    progress.needed = subject_.journal->needed_checkpoint();
  }
  return progress;
}

// The header of the file that a request saves, or of the rows that it restores.
ShardHeader Checkpoints::HeaderOf(const CheckpointRequest& request) const {
  const OwnShard own = subject_.own();
  return {request.save_id, request.parent_id, own.member, own.slots};
}

Status Checkpoints::Save(const CheckpointRequest& request) {
  const Result<std::string> folder = PathWithin(options_.root, request.folder);
  if (!folder.ok()) return folder.status();
  std::lock_guard<std::mutex> lock(starting_);
  const BackgroundJob::Name name{request.action, request.save_id};
  if (job_.Is(name)) return Status();
  // A second save must not freeze the changed rows while a running save still
  // reads them.
  PERSIA_RETURN_IF_ERROR(job_.CheckNoneRuns());
  loaded_ = Loaded();
  PERSIA_RETURN_IF_ERROR(options_.files->MakeFolder(*folder));
  ShardHeader header;
  const auto frozen = std::make_shared<FrozenStore>(subject_.requests);
  {
    const Gate::Closed closed(subject_.gate);
    header = HeaderOf(request);
    PERSIA_RETURN_IF_ERROR(Freeze(header, frozen.get()));
  }
  CheckpointProgress about;
  about.file = subject_.own().file;
  about.slots = header.slots;
  about.total_rows = frozen->row_count;
  const std::string path = *folder + "/" + about.file;
  return Begin(name, about,
               Concat("writing checkpoint ", request.save_id, " of ",
                      frozen->tables.size(), " tables to ", path),
               [this, frozen, path, header](ShardProgress* progress) {
                 const Status status =
                     WriteShard(options_.files, path, header, frozen->tables,
                                frozen->clients, progress);
                 frozen->LetGo();
                 if (!status.ok()) (void)options_.files->Remove(path);
                 return status;
               });
}

Status Checkpoints::Freeze(const ShardHeader& header, FrozenStore* frozen) {
  if (header.parent_id != 0 && header.parent_id != chain_.Base(header.slots)) {
    return Status(Code::kFailedPrecondition,
                  Concat("this shard does not know what changed after save ",
                         header.parent_id,
                         ": it was restarted or restored, dropped or cleared "
                         "a table, began another save, or owns other slots "
                         "now; save all rows instead"));
  }
  // This save takes over the changes of an earlier save that was not committed,
  // so the earlier save must not be committed any more.
  chain_.Begin(ShardHeader(), {});
  const bool is_whole = header.parent_id == 0;
  PERSIA_RETURN_IF_ERROR(FreezeToSave(*subject_.store, *subject_.window,
                                      header.slots, is_whole, frozen));
  chain_.Begin(header, subject_.store->ShareAll());
  return Status();
}

Status Checkpoints::Commit(const CheckpointRequest& request) {
  std::lock_guard<std::mutex> lock(starting_);
  if (chain_.committed().save_id == request.save_id) return Status();
  const CheckpointProgress progress = job_.Progress(request.save_id);
  // A shard may have joined the cluster after the others began to save.
  const bool is_idle = progress.state == CheckpointProgress::State::kIdle;
  if (is_idle && subject_.own().slots.none()) return Status();
  if (!job_.Is({CheckpointAction::kSave, request.save_id}) ||
      progress.state != CheckpointProgress::State::kEnded ||
      !progress.outcome.ok()) {
    return Status(Code::kFailedPrecondition,
                  Concat("save ", request.save_id,
                         " was not written completely by this shard: save "
                         "again"));
  }
  const auto folder = PathWithin(options_.root, request.folder);
  if (!folder.ok()) return folder.status();
  const auto paths = PathsWithin(options_.root, request.files);
  if (!paths.ok()) return paths.status();
  // This check must precede LogSave: if a table was dropped after this save
  // began, recovery must not load that table from the save.
  PERSIA_RETURN_IF_ERROR(chain_.CheckBegun(request.save_id));
  if (subject_.logs_saves) PERSIA_RETURN_IF_ERROR(LogSave(request));
  PERSIA_RETURN_IF_ERROR(
      chain_.Commit({request.save_id, request.folder, request.files}));
  ++saves_;
  last_save_unix_ = static_cast<uint64_t>(UnixSeconds());
  return Status();
}

// Logs that this save is the last one, so that this shard can recover from its
// files.
Status Checkpoints::LogSave(const CheckpointRequest& request) {
  RestoreRecord from{HeaderOf(request), 0, request.folder, request.files, {}};
  {
    // The closed gate keeps other threads from creating tables while this
    // thread lists them.
    const Gate::Closed closed(subject_.gate);
    from.generation = *subject_.generation;
    for (const Table* table : subject_.store->All()) {
      from.tables.emplace_back(HashName(table->config().name),
                               table->identity());
    }
    PERSIA_RETURN_IF_ERROR(LogRestore(from));
  }
  return subject_.journal->BlockUntilDurable(subject_.journal->position());
}

Status Checkpoints::Begin(const BackgroundJob::Name& name,
                          const CheckpointProgress& about,
                          const std::string& what, BackgroundJob::Work work) {
  EventLog* const events = subject_.events;
  const auto told = [this, events, what, total_rows = about.total_rows,
                     work = std::move(work),
                     begin = Clock::now()](ShardProgress* progress) {
    TellEvent(events, kBegun, "began ", what, " (", total_rows, " rows)");
    const Status outcome = CatchBadAlloc([&] { return work(progress); });
    const double seconds = -SecondsUntil(begin);
    if (outcome.ok()) {
      TellEvent(events, kEnded, "ended ", what, ": ", progress->rows, " rows, ",
                progress->bytes, " bytes, ", seconds, " s");
    } else {
      ++failures_;
      TellEvent(events, kFailed, "failed ", what, " after ", progress->rows,
                " rows and ", seconds, " s: ", outcome.message());
    }
    return outcome;
  };
  return job_.Start(name, about, told);
}

Status Checkpoints::Restore(const CheckpointRequest& request) {
  std::lock_guard<std::mutex> lock(starting_);
  const BackgroundJob::Name name{request.action, request.save_id};
  if (job_.Is(name)) return Status();
  const auto folder = PathWithin(options_.root, request.folder);
  if (!folder.ok()) return folder.status();
  const auto paths = PathsWithin(options_.root, request.files);
  if (!paths.ok()) return paths.status();
  PERSIA_RETURN_IF_ERROR(job_.CheckNoneRuns());
  loaded_ = Loaded();
  if (subject_.own().takes_slots) {
    return Status(Code::kMoved,
                  "slots are moving to this shard: restore once they have "
                  "moved; if `persia reshard` was interrupted, run it again "
                  "first");
  }
  const RestoreRecord from{
      HeaderOf(request), 0, request.folder, request.files, {}};
  CheckpointProgress about;
  about.file = subject_.own().file;
  about.slots = from.shard.slots;
  return Begin(
      name, about,
      Concat("reading checkpoint ", request.save_id, " from ", *folder),
      [this, paths = *paths, from](ShardProgress* progress) {
        StoreLoader loader(subject_.store, from.shard);
        PERSIA_RETURN_IF_ERROR(loader.Load(options_.files, paths, progress));
        loaded_ = {loader.TakeTables(), loader.TakeKnown(),
                   loader.TakeClients(), from};
        return Status();
      });
}

Status Checkpoints::Swap(const CheckpointRequest& request) {
  std::lock_guard<std::mutex> lock(starting_);
  const CheckpointProgress progress = job_.Progress();
  const bool is_begun = job_.Is({CheckpointAction::kRestore, request.save_id});
  if (*subject_.generation == request.generation) return Status();
  // A shard may have joined the cluster after the others began to read. When it
  // gets slots, it gets their owner's generation as well.
  if (!is_begun && subject_.own().slots.none()) return Status();
  if (!is_begun || progress.state != CheckpointProgress::State::kEnded ||
      !progress.outcome.ok()) {
    return Status(Code::kFailedPrecondition,
                  Concat("checkpoint ", request.save_id,
                         " was not read completely by this shard: restore it "
                         "again"));
  }
  // Destroys the replaced tables only after the gate has opened, so that no
  // request waits for their destruction. If SwapIn fails, the loaded tables are
  // destroyed too, and the files must be read again.
  Loaded loaded = std::exchange(loaded_, {});
  Status swapped;
  {
    const Gate::Closed closed(subject_.gate);
    swapped = SwapIn(request, &loaded);
  }
  job_.Forget();
  PERSIA_RETURN_IF_ERROR(swapped);
  ++restores_;
  TellEvent(subject_.events, kEnded, "restored checkpoint ", request.save_id,
            ": ", progress.rows, " rows were read; generation ",
            request.generation);
  if (subject_.journal == nullptr) return Status();
  return subject_.journal->BlockUntilAcknowledged(subject_.journal->position());
}

// Replaces tables of the store with the tables in `loaded`, which then holds
// the replaced tables. Requires a closed gate.
Status Checkpoints::SwapIn(const CheckpointRequest& request, Loaded* loaded) {
  RestoreRecord& from = loaded->from;
  PERSIA_RETURN_IF_ERROR(CheckSlots(from.shard));
  PERSIA_RETURN_IF_ERROR(CheckKnown(loaded->known));
  from.generation = request.generation;
  from.tables.clear();
  for (const auto& [key, table] : loaded->tables) {
    table->SetIdentity(RestoredIdentity(from, key));
    from.tables.emplace_back(key, table->identity());
  }
  PERSIA_RETURN_IF_ERROR(LogRestore(from));
  chain_.Break();
  subject_.before_swap();
  PERSIA_RETURN_IF_ERROR(ApplyLogged(subject_.journal, [&] {
    subject_.store->Replace(&loaded->tables);
    if (!loaded->clients.empty()) subject_.window->Import(loaded->clients);
    return Status();
  }));
  *subject_.generation = request.generation;
  if (subject_.journal != nullptr && !subject_.logs_saves) {
    subject_.journal->DemandBase(from.folder);
  }
  return Status();
}

// Fails if the shard owns other slots than those whose rows were read.
Status Checkpoints::CheckSlots(const ShardHeader& read) const {
  if (subject_.own().slots == read.slots) return Status();
  return Status(Code::kMoved,
                Concat("slots moved to or from this shard while checkpoint ",
                       read.save_id, " was read: restore it again"));
}

// Fails if a table was replaced after the restore had read its settings: the
// rows were loaded for the old settings.
Status Checkpoints::CheckKnown(const Store::Tables& known) const {
  for (const auto& [key, table] : known) {
    const auto now = subject_.store->Share(key);
    if ((now.ok() ? *now : nullptr) == table) continue;
    const Table& told = table != nullptr ? *table : **now;
    return Status(
        Code::kFailedPrecondition,
        Concat("table \"", told.config().name,
               "\" was created, dropped, cleared or given another optimizer "
               "while the checkpoint was read: restore it again"));
  }
  return Status();
}

Status Checkpoints::TakeAway(const std::function<Status(bool* taken)>& take) {
  std::lock_guard<std::mutex> lock(starting_);
  const Gate::Closed closed(subject_.gate);
  bool taken = false;
  const Status status = take(&taken);
  if (taken) chain_.Break();
  return status;
}

Status Checkpoints::UnlessRestoring(const std::function<Status()>& work) {
  std::lock_guard<std::mutex> lock(starting_);
  const CheckpointProgress progress = job_.Progress();
  const bool has_ended = progress.state == CheckpointProgress::State::kEnded;
  const bool has_failed = has_ended && !progress.outcome.ok();
  if (job_.action() != CheckpointAction::kRestore || has_failed) return work();
  // A shard without slots has nothing to restore. If it has left the cluster
  // since it read the files, no program tells it that the restore has ended.
  if (has_ended && subject_.own().slots.none()) {
    job_.Forget();
    const Loaded unused = std::exchange(loaded_, {});
    return work();
  }
  return Status(Code::kFailedPrecondition,
                "a restore of a checkpoint is in progress: wait until it has "
                "ended, or restore again if it was interrupted");
}

// Logs the checkpoint from which recovery loads the rows. A restore calls this
// before the rows are in the store, so that every logged update of the rows
// follows this record.
Status Checkpoints::LogRestore(const RestoreRecord& from) {
  if (subject_.journal == nullptr) return Status();
  return Append(RecordBody::Restore(from), subject_.journal).status();
}

}  // namespace persia
