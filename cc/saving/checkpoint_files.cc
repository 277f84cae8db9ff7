#include "cc/saving/checkpoint_files.h"

#include <string>
#include <utility>
#include <vector>

#include "cc/files/root_path.h"

namespace persia {
namespace {

// Checks that each name is a plain file name, not a path out of the folder.
Status CheckNames(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name.empty() || name.size() > 255 || name == "." || name == ".." ||
        name.find('/') != std::string::npos ||
        name.find('\0') != std::string::npos) {
      return InvalidArgument(
          "a checkpoint's file must have a plain name, without a "
          "folder, received \"",
          name, "\"");
    }
  }
  return Status();
}

Status CheckOneFile(const FilesRequest& request) {
  if (request.files.size() == 1) return Status();
  return InvalidArgument("files must contain exactly one name, received ",
                         request.files.size());
}

Status WriteFile(FilesRequest* request, const std::string& folder,
                 FileSystem* files) {
  PERSIA_RETURN_IF_ERROR(CheckOneFile(*request));
  const std::string path = folder + "/" + request->files[0];
  PERSIA_RETURN_IF_ERROR(files->MakeFolder(folder));
  PERSIA_RETURN_IF_ERROR(files->WriteWhole(path, request->contents));
  request->contents.clear();  // Keeps the contents out of the reply.
  return Status();
}

Status ReadFile(FilesRequest* request, const std::string& folder,
                FileSystem* files) {
  PERSIA_RETURN_IF_ERROR(CheckOneFile(*request));
  const std::string path = folder + "/" + request->files[0];
  const Result<uint64_t> size = files->Size(path);
  if (!size.ok()) return size.status();
  if (*size > FilesRequest::kMostBytes) {
    return InvalidArgument(path, " must have at most ",
                           FilesRequest::kMostBytes,
                           " bytes to be read, received ", *size);
  }
  auto file = files->Open(path);
  if (!file.ok()) return file.status();
  request->contents.resize(*size);
  const Result<size_t> got = (*file)->Read(request->contents);
  if (!got.ok()) return got.status();
  request->contents.resize(*got);
  return Status();
}

Status RemoveFiles(const FilesRequest& request, const std::string& folder,
                   FileSystem* files) {
  for (const std::string& file : request.files) {
    PERSIA_RETURN_IF_ERROR(files->Remove(folder + "/" + file));
  }
  const auto left = files->List(folder);
  if (!left.ok() || !left->empty()) return left.status();
  return files->RemoveFolder(folder);
}

}  // namespace

Status DoFiles(const CheckpointOptions& options, FilesRequest* request) {
  PERSIA_RETURN_IF_ERROR(options.CheckRoot());
  const Result<std::string> folder = PathWithin(options.root, request->folder);
  if (!folder.ok()) return folder.status();
  PERSIA_RETURN_IF_ERROR(CheckNames(request->files));
  request->names.clear();
  // What a reply carries, only a read may set.
  if (request->action != FilesAction::kWrite) request->contents.clear();
  switch (request->action) {
    case FilesAction::kWrite:
      return WriteFile(request, *folder, options.files);
    case FilesAction::kRead:
      return ReadFile(request, *folder, options.files);
    case FilesAction::kRemove:
      return RemoveFiles(*request, *folder, options.files);
    case FilesAction::kList:
      break;
  }
  auto names = options.files->List(*folder);
  if (!names.ok()) return names.status();
  request->names = std::move(*names);
  return Status();
}

}  // namespace persia
