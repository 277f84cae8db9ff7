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

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Status SyncFolder(const std::string& folder) {
  const Descriptor opened(
      ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.number() < 0) return FileError("open", folder);
  return ::fsync(opened.number()) == 0 ? Status() : FileError("sync", folder);
}

class LocalFileSystem : public FileSystem {
 public:
  Result<std::unique_ptr<WritableFile>> Create(
      const std::string& path) override {
    Descriptor file(
        ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.number() < 0) return FileError("create", path);
    return std::unique_ptr<WritableFile>(
        std::make_unique<LocalWritableFile>(path, std::move(file)));
  }

  Result<std::unique_ptr<WritableFile>> CreateLarge(
      const std::string& path) override {
    return CreateDirectFile(path);
  }

  Result<std::unique_ptr<ReadableFile>> Open(const std::string& path) override {
    Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.number() < 0) return FileError("open", path);
    return std::unique_ptr<ReadableFile>(
        std::make_unique<LocalReadableFile>(path, std::move(file)));
  }

  Result<uint64_t> Size(const std::string& path) override {
    struct stat found;
    if (::stat(path.c_str(), &found) != 0) return FileError("look at", path);
    return static_cast<uint64_t>(found.st_size);
  }

  Status Sync(const std::string& path) override {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.number() < 0) return FileError("open", path);
    return ::fdatasync(file.number()) == 0 ? Status() : FileError("sync", path);
  }

  Status Rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0)
      return FileError("rename", from);
    return SyncFolder(FolderOf(to));
  }

  Status Remove(const std::string& path) override {
    if (::unlink(path.c_str()) == 0 || errno == ENOENT) return Status();
    return FileError("remove", path);
  }

  Result<std::vector<std::string>> List(const std::string& folder) override {
    std::vector<std::string> names;
    DIR* const opened = ::opendir(folder.c_str());
    if (opened == nullptr && errno == ENOENT) return names;
    if (opened == nullptr) return FileError("list", folder);
    while (const dirent* entry = ::readdir(opened)) {
      const std::string name = entry->d_name;
      if (name != "." && name != "..") names.push_back(name);
    }
    ::closedir(opened);
    std::sort(names.begin(), names.end());
    return names;
  }

  Status MakeFolder(const std::string& folder) override {
    for (size_t end = folder.find('/', 1);; end = folder.find('/', end + 1)) {
      const std::string part = folder.substr(0, end);
      if (::mkdir(part.c_str(), 0755) != 0 && errno != EEXIST) {
        return FileError("make folder", part);
      }
      if (end == std::string::npos) return Status();
    }
  }

  Status RemoveFolder(const std::string& folder) override {
    if (::rmdir(folder.c_str()) == 0 || errno == ENOENT) return Status();
    return FileError("remove folder", folder);
  }
};

}  // namespace

FileSystem* LocalFiles() {
  static LocalFileSystem* const files = new LocalFileSystem;
  return files;
}

}  // namespace persia
