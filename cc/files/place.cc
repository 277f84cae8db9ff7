#include "cc/files/place.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

namespace persia {
namespace {

using Names = std::vector<std::string>;

constexpr char kItself[] = ".";
// The flags that open a folder only in order to look up names in it.
constexpr int kOnTheWay = O_PATH | O_DIRECTORY | O_CLOEXEC;

Status NoLinks(const std::string& path) {
  return InvalidArgument(
      "symbolic links below the checkpoint root are not followed, and ", path,
      " is one: give the path of its target, or mount the target there");
}

bool IsLink(int folder, const std::string& name) {
  struct stat found;
  return ::fstatat(folder, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 &&
         S_ISLNK(found.st_mode);
}

Result<Names> NamesBelow(const std::string& root, const std::string& path) {
  Names names;
  size_t end = root.size();
  bool is_below = path.compare(0, end, root) == 0;
  while (is_below && end < path.size()) {
    if (path[end] != '/') is_below = false;
    const size_t begin = end + 1;
    end = std::min(path.find('/', begin), path.size());
    names.push_back(path.substr(std::min(begin, end), end - begin));
    const std::string& name = names.back();
    if (name.empty() || name == "." || name == "..") is_below = false;
  }
  if (is_below) return names;
  return InvalidArgument("a path must be ", root,
                         " or a path below it, received \"", path, "\"");
}

// Opens the folder that `names` lead to from `root`. If `makes` is true,
// creates missing folders.
Result<Descriptor> Walk(const std::string& root, const Names& names,
                        bool makes) {
  std::string path = root;
  Descriptor folder(::open(root.c_str(), kOnTheWay));
  if (folder.number() < 0) return FileError("open", path);
  for (const std::string& name : names) {
    path += "/" + name;
    const int number = folder.number();
    if (makes && ::mkdirat(number, name.c_str(), 0755) != 0 &&
        errno != EEXIST) {
      return FileError("make folder", path);
    }
    Descriptor next(::openat(number, name.c_str(), kOnTheWay | O_NOFOLLOW));
    if (next.number() < 0) {
      const int error = errno;
      return IsLink(number, name) ? NoLinks(path)
                                  : FileError("open", path, error);
    }
    folder = std::move(next);
  }
  return folder;
}

std::string FolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return kItself;
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Place Place::Anywhere(const std::string& path) {
  return Place(Descriptor(-1), path, path, /*is_below=*/false);
}

Result<Place> Place::Below(const std::string& root, const std::string& path) {
  auto names = NamesBelow(root, path);
  if (!names.ok()) return names.status();
  std::string name = kItself;
  if (!names->empty()) {
    name = std::move(names->back());
    names->pop_back();
  }
  auto folder = Walk(root, *names, /*makes=*/false);
  if (!folder.ok()) return folder.status();
  return Place(std::move(*folder), std::move(name), path, /*is_below=*/true);
}

Status Place::MakeFoldersBelow(const std::string& root,
                               const std::string& path) {
  const auto names = NamesBelow(root, path);
  if (!names.ok()) return names.status();
  return Walk(root, *names, /*makes=*/true).status();
}

int Place::folder() const {
  return folder_.number() < 0 ? AT_FDCWD : folder_.number();
}

Result<Descriptor> Place::OpenAny(const char* what, int flags,
                                  mode_t mode) const {
  // O_NONBLOCK prevents the call from waiting, for example for a writer of a
  // pipe.
  if (is_below_) flags |= O_NOFOLLOW | O_NONBLOCK;
  Descriptor opened(::openat(folder(), name_.c_str(), flags | O_CLOEXEC, mode));
  if (opened.number() >= 0) return opened;
  const int error = errno;
  if (is_below_ && IsLink(folder(), name_)) return NoLinks(path_);
  return FileError(what, path_, error);
}

Result<Descriptor> Place::Open(const char* what, int flags, mode_t mode) const {
  auto opened = OpenAny(what, flags, mode);
  if (!opened.ok() || !is_below_) return opened;
  struct stat found;
  if (::fstat(opened->number(), &found) != 0) return FileError(what, path_);
  if (S_ISREG(found.st_mode) || S_ISDIR(found.st_mode)) return opened;
  return InvalidArgument("cannot ", what, " ", path_, ": it is not a file");
}

Result<Descriptor> Place::OpenFolder(const char* what) const {
  return OpenAny(what, O_RDONLY | O_DIRECTORY, 0);
}

Result<uint64_t> Place::Size() const {
  struct stat found;
  if (::fstatat(folder(), name_.c_str(), &found,
                is_below_ ? AT_SYMLINK_NOFOLLOW : 0) != 0) {
    return FileError("look at", path_);
  }
  if (S_ISLNK(found.st_mode)) return NoLinks(path_);
  return static_cast<uint64_t>(found.st_size);
}

Status Place::RenameTo(const Place& to) const {
  if (::renameat(folder(), name_.c_str(), to.folder(), to.name_.c_str()) == 0) {
    return Status();
  }
  return FileError("rename", path_);
}

Status Place::SyncFolder() const {
  const std::string path = FolderOf(path_);
  const std::string& name = is_below_ ? kItself : path;
  const Descriptor opened(
      ::openat(folder(), name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (opened.number() < 0) return FileError("open", path);
  return ::fsync(opened.number()) == 0 ? Status() : FileError("sync", path);
}

Status Place::Remove() const {
  if (::unlinkat(folder(), name_.c_str(), 0) == 0) return Status();
  return FileError("remove", path_);
}

Status Place::RemoveFolder() const {
  if (is_below_ && name_ == kItself) return Status();
  if (::unlinkat(folder(), name_.c_str(), AT_REMOVEDIR) == 0) return Status();
  const int error = errno;
  if (is_below_ && IsLink(folder(), name_)) return NoLinks(path_);
  return FileError("remove folder", path_, error);
}

}  // namespace persia
