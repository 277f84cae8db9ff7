#include "cc/service/checkpoints.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "cc/base/catch_bad_alloc.h"
#include "cc/base/clock.h"
#include "cc/base/hash.h"
#include "cc/checkpoint/shard_file.h"
#include "cc/checkpoint/store_loader.h"
#include "cc/files/root_path.h"
#include "cc/service/frozen_store.h"

namespace persia {
namespace {

constexpr EventKind kBegun{"checkpoints were begun", EventLevel::kInfo, 60};
constexpr EventKind kEnded{"checkpoints ended", EventLevel::kInfo, 60};
constexpr EventKind kFailed{"checkpoints failed", EventLevel::kError, 60};

std::string ShardFileName(uint32_t index, uint32_t count) {
  char name[64];
  std::snprintf(name, sizeof(name), "shard-%05u-of-%05u", index, count);
  return name;
}

ShardHeader HeaderOf(const CheckpointRequest& request) {
  return {request.save_id, request.parent_id, request.shard_index,
          request.shard_count};
}

// Requires names of files in a folder, not paths.
Status CheckNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name.empty() || name.size() > 255 || name == "." || name == ".." ||
        name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos) {
      return InvalidArgument(
          "a file of a checkpoint must be named without a "
          "path, received \"",
          name, "\"");
    }
  }
  return Status();
}

// A function of the checkpoint and the generation, so that all shards that
// restore the same checkpoint get the same identity, whatever they held before.
TableIdentity RestoredIdentity(const RestoreRecord& from, TableKey table) {
  const uint64_t restore = Mix64(from.shard.save_id ^ Mix64(from.generation));
  const uint64_t number = Mix64(restore ^ table);
  return {number == 0 ? 1 : number, true};
}

Status CheckOneFile(const CheckpointRequest& request) {
  if (request.files.size() == 1) return Status();
  return InvalidArgument("files must be one name, received ",
                         request.files.size());
}

}  // namespace

Status Checkpoints::Do(CheckpointRequest* request) {
  request->shards.clear();
  request->names.clear();
  if (request->action == CheckpointAction::kForget) {
    Forget(request->save_id);
    return Status();
  }
  if (request->action == CheckpointAction::kProgress) {
    request->shards.assign(1, Progress(*request));
    return Status();
  }
  if (options_.root.empty()) {
    return Status(Code::kFailedPrecondition,
                  "this server keeps no checkpoints: start it with "
                  "--checkpoint-root FOLDER");
  }
  switch (request->action) {
    case CheckpointAction::kSwap:
      return Swap(*request);
    case CheckpointAction::kRestore:
      return Restore(*request);
    case CheckpointAction::kCommit:
      return Commit(*request);
    default:
      return DoInFolder(request);
  }
}

Status Checkpoints::DoInFolder(CheckpointRequest* request) {
  const Result<std::string> folder = PathWithin(options_.root, request->folder);
  if (!folder.ok()) return folder.status();
  PERSIA_RETURN_IF_ERROR(CheckNames(request->files));
  switch (request->action) {
    case CheckpointAction::kSave:
      return Save(*request, *folder);
    case CheckpointAction::kWriteFile:
      return WriteFile(*request, *folder);
    case CheckpointAction::kReadFile:
      return ReadFile(request, *folder);
    case CheckpointAction::kRemoveFiles:
      return RemoveFiles(*request, *folder);
    default:
      break;
  }
  auto names = options_.files->List(*folder);
  if (!names.ok()) return names.status();
  request->names = std::move(*names);
  return Status();
}

void Checkpoints::Forget(uint64_t save_id) {
  if (save_id == 0 || job_.Is({CheckpointAction::kSave, save_id}) ||
      job_.Is({CheckpointAction::kRestore, save_id})) {
    job_.Forget();
    std::lock_guard<std::mutex> lock(starting_);
    loaded_ = Loaded();
  }
}

CheckpointProgress Checkpoints::Progress(
    const CheckpointRequest& request) const {
  CheckpointProgress progress = job_.Progress();
  if (progress.file.empty()) {
    progress.file = ShardFileName(request.shard_index, request.shard_count);
  }
  progress.base_id = chain_.Base(HeaderOf(request));
  if (subject_.journal != nullptr) {
    progress.needed = subject_.journal->needed_checkpoint();
  }
  return progress;
}

Status Checkpoints::Save(const CheckpointRequest& request,
                         const std::string& folder) {
  std::lock_guard<std::mutex> lock(starting_);
  const BackgroundJob::Name name{request.action, request.save_id};
  if (job_.Is(name)) return Status();
  // A running save owns the changes that it writes: no other save may freeze
  // them.
  PERSIA_RETURN_IF_ERROR(job_.CheckNoneRuns());
  loaded_ = Loaded();
  PERSIA_RETURN_IF_ERROR(options_.files->MakeFolder(folder));
  const ShardHeader header = HeaderOf(request);
  PERSIA_RETURN_IF_ERROR(CheckShard(request));
  const auto frozen = std::make_shared<FrozenStore>(subject_.requests);
  {
    const Gate::Closed closed(subject_.gate);
    PERSIA_RETURN_IF_ERROR(Freeze(header, frozen.get()));
  }
  CheckpointProgress about;
  about.file = ShardFileName(request.shard_index, request.shard_count);
  about.total_rows = frozen->row_count;
  const std::string path = folder + "/" + about.file;
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
  if (header.parent_id != 0 && header.parent_id != chain_.Base(header)) {
    return Status(Code::kFailedPrecondition,
                  Concat("this shard does not know what changed since save ",
                         header.parent_id,
                         ": it was restarted or restored since, dropped or "
                         "cleared a table, or another save came between; save "
                         "all rows"));
  }
  // An earlier save can no longer be committed: this one takes over its
  // changes.
  chain_.Begin(ShardHeader(), {});
  const bool is_whole = header.parent_id == 0;
  PERSIA_RETURN_IF_ERROR(
      FreezeToSave(*subject_.store, *subject_.window, is_whole, frozen));
  chain_.Begin(header, subject_.store->ShareAll());
  return Status();
}

Status Checkpoints::Commit(const CheckpointRequest& request) {
  std::lock_guard<std::mutex> lock(starting_);
  if (chain_.committed().shard.save_id == request.save_id) return Status();
  const CheckpointProgress progress = job_.Progress();
  if (!job_.Is({CheckpointAction::kSave, request.save_id}) ||
      progress.state != CheckpointProgress::State::kEnded ||
      !progress.outcome.ok()) {
    return Status(Code::kFailedPrecondition,
                  Concat("save ", request.save_id,
                         " was not written here, or not to its end"));
  }
  const auto folder = PathWithin(options_.root, request.folder);
  if (!folder.ok()) return folder.status();
  const auto paths = PathsWithin(options_.root, request.files);
  if (!paths.ok()) return paths.status();
  // Checked before logging: otherwise recovery could load a table from this
  // save that was dropped after it.
  PERSIA_RETURN_IF_ERROR(chain_.CheckBegun(request.save_id));
  if (subject_.logs_saves) PERSIA_RETURN_IF_ERROR(LogSave(request));
  return chain_.Commit({HeaderOf(request), request.folder, request.files});
}

// Logs the save, so that this shard can recover from it.
Status Checkpoints::LogSave(const CheckpointRequest& request) {
  RestoreRecord from{HeaderOf(request), 0, request.folder, request.files, {}};
  {
    // With the gate closed, no tables are created meanwhile.
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
  const auto told = [events, what, total_rows = about.total_rows,
                     work = std::move(work),
                     begin = Clock::now()](ShardProgress* progress) {
    TellEvent(events, kBegun, "began ", what, " (", total_rows, " rows)");
    const Status outcome = CatchBadAlloc([&] { return work(progress); });
    const double seconds = -SecondsUntil(begin);
    if (outcome.ok()) {
      TellEvent(events, kEnded, "ended ", what, ": ", progress->rows, " rows, ",
                progress->bytes, " bytes, ", seconds, " s");
    } else {
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
  PERSIA_RETURN_IF_ERROR(CheckShard(request));
  PERSIA_RETURN_IF_ERROR(job_.CheckNoneRuns());
  loaded_ = Loaded();
  const RestoreRecord from{
      HeaderOf(request), 0, request.folder, request.files, {}};
  CheckpointProgress about;
  about.file = ShardFileName(request.shard_index, request.shard_count);
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
  if (!is_begun || progress.state != CheckpointProgress::State::kEnded ||
      !progress.outcome.ok()) {
    return Status(Code::kFailedPrecondition,
                  Concat("checkpoint ", request.save_id,
                         " was not read here, or not to its end"));
  }
  // Destroyed after the gate opens again. What is refused must be read again.
  Loaded loaded = std::exchange(loaded_, {});
  Status swapped;
  {
    const Gate::Closed closed(subject_.gate);
    swapped = SwapIn(request, &loaded);
  }
  job_.Forget();
  PERSIA_RETURN_IF_ERROR(swapped);
  TellEvent(subject_.events, kEnded, "restored checkpoint ", request.save_id,
            ": ", progress.rows, " rows were read; generation ",
            request.generation);
  if (subject_.journal == nullptr) return Status();
  return subject_.journal->BlockUntilDurable(subject_.journal->position());
}

// Expects the gate to be closed. Leaves the replaced tables in `loaded`.
Status Checkpoints::SwapIn(const CheckpointRequest& request, Loaded* loaded) {
  PERSIA_RETURN_IF_ERROR(CheckShard(request));
  PERSIA_RETURN_IF_ERROR(CheckKnown(loaded->known));
  RestoreRecord& from = loaded->from;
  from.generation = request.generation;
  from.tables.clear();
  for (const auto& [key, table] : loaded->tables) {
    table->SetIdentity(RestoredIdentity(from, key));
    from.tables.emplace_back(key, table->identity());
  }
  PERSIA_RETURN_IF_ERROR(LogRestore(from));
  chain_.Break();
  subject_.before_swap();
  const Status replaced = CatchBadAlloc([&] {
    subject_.store->Replace(&loaded->tables);
    if (!loaded->clients.empty()) subject_.window->Import(loaded->clients);
    return Status();
  });
  if (!replaced.ok()) {
    // The log has a restore that the store lacks, or has only a part of.
    if (subject_.journal != nullptr) subject_.journal->Break(replaced);
    return replaced;
  }
  *subject_.generation = request.generation;
  if (subject_.journal != nullptr && !subject_.logs_saves) {
    subject_.journal->DemandBase(from.folder);
  }
  return Status();
}

Status Checkpoints::CheckShard(const CheckpointRequest& request) const {
  return subject_.store->CheckShard(Concat("checkpoint ", request.save_id),
                                    request.shard_index, request.shard_count);
}

// Fails if a table was replaced since the restore read its settings: the rows
// were read for the old ones.
Status Checkpoints::CheckKnown(const Store::Tables& known) const {
  for (const auto& [key, table] : known) {
    const auto now = subject_.store->Share(key);
    if ((now.ok() ? *now : nullptr) == table) continue;
    const Table& told = table != nullptr ? *table : **now;
    return Status(
        Code::kFailedPrecondition,
        Concat("table \"", told.config().name,
               "\" was made, dropped, cleared or given another optimizer "
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

// Called before the rows are in the store, so that the log has no earlier
// update of them.
Status Checkpoints::LogRestore(const RestoreRecord& from) {
  if (subject_.journal == nullptr) return Status();
  return Append(RecordBody::Restore(from), subject_.journal).status();
}

Status Checkpoints::WriteFile(const CheckpointRequest& request,
                              const std::string& folder) const {
  PERSIA_RETURN_IF_ERROR(CheckOneFile(request));
  const std::string path = folder + "/" + request.files[0];
  PERSIA_RETURN_IF_ERROR(options_.files->MakeFolder(folder));
  return options_.files->WriteWhole(path, request.contents);
}

Status Checkpoints::ReadFile(CheckpointRequest* request,
                             const std::string& folder) const {
  PERSIA_RETURN_IF_ERROR(CheckOneFile(*request));
  const std::string path = folder + "/" + request->files[0];
  const Result<uint64_t> size = options_.files->Size(path);
  if (!size.ok()) return size.status();
  if (*size > CheckpointRequest::kMaxFileBytes) {
    return InvalidArgument(path, " must have at most ",
                           CheckpointRequest::kMaxFileBytes,
                           " bytes to be read whole, it has ", *size);
  }
  auto file = options_.files->Open(path);
  if (!file.ok()) return file.status();
  request->contents.resize(*size);
  const Result<size_t> got = (*file)->Read(request->contents);
  if (!got.ok()) return got.status();
  request->contents.resize(*got);
  return Status();
}

Status Checkpoints::RemoveFiles(const CheckpointRequest& request,
                                const std::string& folder) const {
  for (const std::string& file : request.files) {
    PERSIA_RETURN_IF_ERROR(options_.files->Remove(folder + "/" + file));
  }
  const auto left = options_.files->List(folder);
  if (!left.ok() || !left->empty()) return left.status();
  return options_.files->RemoveFolder(folder);
}

}  // namespace persia
