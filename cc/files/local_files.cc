#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "cc/files/descriptor.h"
#include "cc/files/direct_file.h"
#include "cc/files/file_system.h"
#include "cc/files/place.h"

namespace persia {
namespace {

class LocalWritableFile : public WritableFile {
 public:
  LocalWritableFile(std::string path, Descriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}

  Status Append(Span<const uint8_t> bytes) override {
    size_t written = 0;
    const int error = WriteAll(file_, bytes, &written);
    return error == 0 ? Status() : FileError("write", path_, error);
  }

  Status Sync() override {
    return ::fdatasync(file_.number()) == 0 ? Status()
                                            : FileError("sync", path_);
  }

  Status Close() override {
    return file_.Close() == 0 ? Status() : FileError("close", path_);
  }

 private:
  const std::string path_;
  Descriptor file_;
};

class LocalReadableFile : public ReadableFile {
 public:
  LocalReadableFile(std::string path, Descriptor file)
      : path_(std::move(path)), file_(std::move(file)) {}

  Result<size_t> Read(Span<uint8_t> bytes) override {
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t got =
          ::read(file_.number(), bytes.data() + done, bytes.size() - done);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return FileError("read", path_);
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    return done;
  }

 private:
  const std::string path_;
  Descriptor file_;
};

Status UnlessNotFound(const Status& status) {
  return status.code() == Code::kNotFound ? Status() : status;
}

Status ListNames(const Descriptor& folder, const std::string& path,
                 std::vector<std::string>* names) {
  // closedir also closes the descriptor of its stream, so the stream gets a
  // duplicate.
  const int number = ::fcntl(folder.number(), F_DUPFD_CLOEXEC, 0);
  DIR* const stream = number < 0 ? nullptr : ::fdopendir(number);
  if (stream == nullptr) {
    const int error = errno;
    Descriptor(number).Close();
    return FileError("list", path, error);
  }
  while (const dirent* entry = ::readdir(stream)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names->push_back(name);
  }
  ::closedir(stream);
  std::sort(names->begin(), names->end());
  return Status();
}

// Creates a folder and its parents, following symbolic links.
Status MakeAll(const std::string& folder) {
  for (size_t end = folder.find('/', 1);; end = folder.find('/', end + 1)) {
    const std::string part = folder.substr(0, end);
    if (::mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) {
      return FileError("make folder", part);
    }
    if (end == std::string::npos) return Status();
  }
}

// Accesses all local files or, if there is a root, only files below the root.
class LocalFileSystem : public FileSystem {
 public:
  explicit LocalFileSystem(std::string root = "") : root_(std::move(root)) {}

  Result<std::unique_ptr<WritableFile>> Create(
      const std::string& path) override {
    const auto place = Find(path);
    if (!place.ok()) return place.status();
    auto file = place->Open("create", O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (!file.ok()) return file.status();
    return std::unique_ptr<WritableFile>(
        std::make_unique<LocalWritableFile>(path, std::move(*file)));
  }

  Result<std::unique_ptr<WritableFile>> CreateLarge(
      const std::string& path) override {
    const auto place = Find(path);
    if (!place.ok()) return place.status();
    return CreateDirectFile(*place);
  }

  Result<std::unique_ptr<ReadableFile>> Open(const std::string& path) override {
    auto file = OpenToRead(path);
    if (!file.ok()) return file.status();
    return std::unique_ptr<ReadableFile>(
        std::make_unique<LocalReadableFile>(path, std::move(*file)));
  }

  Result<uint64_t> Size(const std::string& path) override {
    const auto place = Find(path);
    return place.ok() ? place->Size() : place.status();
  }

  Status Sync(const std::string& path) override {
    const auto file = OpenToRead(path);
    if (!file.ok()) return file.status();
    return ::fdatasync(file->number()) == 0 ? Status()
                                            : FileError("sync", path);
  }

  Status Rename(const std::string& from, const std::string& to) override {
    const auto old_place = Find(from);
    if (!old_place.ok()) return old_place.status();
    const auto new_place = Find(to);
    if (!new_place.ok()) return new_place.status();
    PERSIA_RETURN_IF_ERROR(old_place->RenameTo(*new_place));
    return new_place->SyncFolder();
  }

  Status Remove(const std::string& path) override {
    const auto place = Find(path);
    return UnlessNotFound(place.ok() ? place->Remove() : place.status());
  }

  Result<std::vector<std::string>> List(const std::string& folder) override {
    const auto place = Find(folder);
    const auto opened = place.ok() ? place->OpenFolder("list")
                                   : Result<Descriptor>(place.status());
    std::vector<std::string> names;
    if (opened.ok()) {
      PERSIA_RETURN_IF_ERROR(ListNames(*opened, folder, &names));
    }
    const Status found = UnlessNotFound(opened.status());
    if (!found.ok()) return found;
    return names;
  }

  Status MakeFolder(const std::string& folder) override {
    if (root_.empty()) return MakeAll(folder);
    PERSIA_RETURN_IF_ERROR(MakeAll(root_));
    return Place::MakeFoldersBelow(root_, folder);
  }

  Status RemoveFolder(const std::string& folder) override {
    const auto place = Find(folder);
    return UnlessNotFound(place.ok() ? place->RemoveFolder() : place.status());
  }

 private:
  Result<Place> Find(const std::string& path) const {
    if (root_.empty()) return Place::Anywhere(path);
    return Place::Below(root_, path);
  }

  Result<Descriptor> OpenToRead(const std::string& path) const {
    const auto place = Find(path);
    if (!place.ok()) return place.status();
    return place->Open("open", O_RDONLY);
  }

  const std::string root_;  // Empty if all local files may be accessed.
};

}  // namespace

FileSystem* LocalFiles() {
  static LocalFileSystem* const files = new LocalFileSystem;
  return files;
}

std::unique_ptr<FileSystem> LocalFilesBelow(const std::string& root) {
  return std::make_unique<LocalFileSystem>(root);
}

}  // namespace persia
