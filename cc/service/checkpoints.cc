#include "cc/service/checkpoints.h"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#include "cc/checkpoint/shard_file.h"
#include "cc/checkpoint/store_loader.h"
#include "cc/files/root_path.h"

namespace persia {
namespace {

std::string ShardFileName(uint32_t index, uint32_t count) {
  char name[64];
  std::snprintf(name, sizeof(name), "shard-%05u-of-%05u", index, count);
  return name;
}

ShardHeader HeaderOf(const CheckpointRequest& request) {
  return {request.save_id, request.shard_index, request.shard_count};
}

// Of a file in a folder: no path.
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

Status CheckOneFile(const CheckpointRequest& request) {
  if (request.files.size() == 1) return Status();
  return InvalidArgument("files must be one name, received ",
                         request.files.size());
}

// The tables of a store, as they were at one moment.
struct FrozenStore {
  std::vector<SavedTable> tables;
  std::vector<std::unique_ptr<FrozenRows>> rows;
  std::vector<ClientWindow> clients;
  uint64_t row_count = 0;
};

Status Freeze(const Store& store, FrozenStore* frozen) {
  for (Table* table : store.All()) {
    auto rows = table->Freeze();
    if (!rows.ok()) return rows.status();
    frozen->tables.push_back(
        {table->config(), table->layout(), table->time(), rows->get()});
    frozen->rows.push_back(std::move(*rows));
    frozen->row_count += table->Stats().rows;
  }
  return Status();
}

}  // namespace

Status Checkpoints::Do(CheckpointRequest* request) {
  request->shards.clear();
  request->names.clear();
  if (request->action == CheckpointAction::kForget) {
    job_.Forget();
    return Status();
  }
  if (request->action == CheckpointAction::kProgress) {
    request->shards.assign(1, job_.Progress());
    return Status();
  }
  if (options_.root.empty()) {
    return Status(Code::kFailedPrecondition,
                  "this server keeps no checkpoints: start it with "
                  "--checkpoint-root FOLDER");
  }
  if (request->action == CheckpointAction::kSwap) return Swap(*request);
  const Result<std::string> folder = PathWithin(options_.root, request->folder);
  if (!folder.ok()) return folder.status();
  PERSIA_RETURN_IF_ERROR(CheckNames(request->files));
  switch (request->action) {
    case CheckpointAction::kSave:
      return Save(*request, *folder);
    case CheckpointAction::kRestore:
      return Restore(*request, *folder);
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

Status Checkpoints::Save(const CheckpointRequest& request,
                         const std::string& folder) {
  std::lock_guard<std::mutex> lock(starting_);
  const BackgroundJob::Name name{request.action, request.save_id};
  if (job_.Is(name)) return Status();
  PERSIA_RETURN_IF_ERROR(options_.files->MakeFolder(folder));
  const auto frozen = std::make_shared<FrozenStore>();
  {
    const Gate::Closed closed(subject_.gate);
    PERSIA_RETURN_IF_ERROR(Freeze(*subject_.store, frozen.get()));
    frozen->clients = subject_.window->Export();
  }
  CheckpointProgress about;
  about.file = ShardFileName(request.shard_index, request.shard_count);
  about.total_rows = frozen->row_count;
  const std::string path = folder + "/" + about.file;
  return job_.Start(
      name, about,
      [this, frozen, path,
       header = HeaderOf(request)](ShardProgress* progress) {
        const Status status =
            WriteShard(options_.files, path, header, frozen->tables,
                       frozen->clients, progress);
        frozen->rows.clear();  // The tables need not keep rows any longer.
        if (!status.ok()) (void)options_.files->Remove(path);
        return status;
      });
}

Status Checkpoints::Restore(const CheckpointRequest& request,
                            const std::string& folder) {
  std::lock_guard<std::mutex> lock(starting_);
  const BackgroundJob::Name name{request.action, request.save_id};
  if (job_.Is(name)) return Status();
  std::vector<std::string> paths;
  for (const std::string& file : request.files) {
    paths.push_back(folder + "/" + file);
  }
  CheckpointProgress about;
  about.file = ShardFileName(request.shard_index, request.shard_count);
  return job_.Start(
      name, about,
      [this, paths, header = HeaderOf(request)](ShardProgress* progress) {
        StoreLoader loader(subject_.store, header);
        for (const std::string& path : paths) {
          PERSIA_RETURN_IF_ERROR(
              ReadShard(options_.files, path, &loader, progress));
        }
        loaded_ = {loader.TakeTables(), loader.TakeClients()};
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
  Loaded loaded = std::exchange(loaded_, {});
  {
    const Gate::Closed closed(subject_.gate);
    subject_.store->Replace(&loaded.tables);
    if (!loaded.clients.empty()) subject_.window->Import(loaded.clients);
    *subject_.generation = request.generation;
  }
  job_.Forget();
  return Status();
}

Status Checkpoints::WriteFile(const CheckpointRequest& request,
                              const std::string& folder) const {
  PERSIA_RETURN_IF_ERROR(CheckOneFile(request));
  const std::string path = folder + "/" + request.files[0];
  const std::string unfinished = path + ".tmp";
  PERSIA_RETURN_IF_ERROR(options_.files->MakeFolder(folder));
  auto file = options_.files->Create(unfinished);
  if (!file.ok()) return file.status();
  PERSIA_RETURN_IF_ERROR((*file)->Append(request.contents));
  PERSIA_RETURN_IF_ERROR((*file)->Sync());
  PERSIA_RETURN_IF_ERROR((*file)->Close());
  return options_.files->Rename(unfinished, path);
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
