#include "cc/files/all_files.h"

#include <atomic>

#include "cc/files/root_path.h"
#include "cc/files/url.h"

namespace persia {
namespace {

std::atomic<FileSystem*> url_files{nullptr};

Result<FileSystem*> FilesOf(const std::string& path) {
  if (!IsUrl(path)) return LocalFiles();
  PERSIA_RETURN_IF_ERROR(CheckUrl(path));
  if (FileSystem* const files = url_files.load()) return files;
  return Status(Code::kFailedPrecondition,
                Concat("this process cannot access URLs, received \"", path,
                       "\": start the shard with a URL as --checkpoint-root"));
}

// Calls `use` with the FileSystem that `path` belongs to.
template <typename Use>
auto On(const std::string& path,
        const Use& use) -> decltype(use(LocalFiles())) {
  const Result<FileSystem*> files = FilesOf(path);
  if (!files.ok()) return files.status();
  return use(*files);
}

class AllFileSystem : public FileSystem {
 public:
  Result<std::unique_ptr<WritableFile>> Create(
      const std::string& path) override {
    return On(path, [&](FileSystem* files) { return files->Create(path); });
  }

  Result<std::unique_ptr<WritableFile>> CreateLarge(
      const std::string& path) override {
    return On(path,
              [&](FileSystem* files) { return files->CreateLarge(path); });
  }

  Result<std::unique_ptr<ReadableFile>> Open(const std::string& path) override {
    return On(path, [&](FileSystem* files) { return files->Open(path); });
  }

  Result<uint64_t> Size(const std::string& path) override {
    return On(path, [&](FileSystem* files) { return files->Size(path); });
  }

  Status WriteWhole(const std::string& path,
                    Span<const uint8_t> bytes) override {
    return On(path, [&](FileSystem* files) {
      return files->WriteWhole(path, bytes);
    });
  }

  Status Sync(const std::string& path) override {
    return On(path, [&](FileSystem* files) { return files->Sync(path); });
  }

  Status Rename(const std::string& from, const std::string& to) override {
    if (IsUrl(from) != IsUrl(to)) {
      return InvalidArgument("cannot rename ", from, " to ", to,
                             ": they are on different file systems");
    }
    return On(to, [&](FileSystem* files) { return files->Rename(from, to); });
  }

  Status Remove(const std::string& path) override {
    return On(path, [&](FileSystem* files) { return files->Remove(path); });
  }

  Result<std::vector<std::string>> List(const std::string& folder) override {
    return On(folder, [&](FileSystem* files) { return files->List(folder); });
  }

  Status MakeFolder(const std::string& folder) override {
    return On(folder,
              [&](FileSystem* files) { return files->MakeFolder(folder); });
  }

  Status RemoveFolder(const std::string& folder) override {
    return On(folder,
              [&](FileSystem* files) { return files->RemoveFolder(folder); });
  }
};

}  // namespace

FileSystem* AllFiles() {
  static AllFileSystem* const files = new AllFileSystem;
  return files;
}

std::shared_ptr<FileSystem> FilesWithin(const std::string& root) {
  if (IsUrl(root) || RootFolder(root) == "/") {
    return {AllFiles(), [](FileSystem*) {}};
  }
  return LocalFilesBelow(RootFolder(root));
}

void SetUrlFiles(FileSystem* files) { url_files = files; }

}  // namespace persia
