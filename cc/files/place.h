// Place: the location of a local file, as an open folder and a name in that
// folder.
//
// To find a place below a root, each folder of the path is opened relative to
// its parent, without following symbolic links. Another process with write
// access below the root can therefore not redirect this process to other files,
// not even by replacing a folder with a link during the walk. openat2's
// RESOLVE_NO_SYMLINKS would have the same effect, but some kernels and
// containers lack openat2.
//
// Calls wait for the storage device, as those of FileSystem do. A Place belongs
// to one thread.

#ifndef PERSIA_CC_FILES_PLACE_H_
#define PERSIA_CC_FILES_PLACE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>

#include "cc/base/status.h"
#include "cc/files/descriptor.h"

namespace persia {

class Place {
 public:
  // Returns the place at `path`, which is absolute or relative to the working
  // directory. Symbolic links are followed.
  static Place Anywhere(const std::string& path);

  // Returns the place at `path`, which must be `root`, or `root` followed by
  // "/" and names. Symbolic links are followed on the way to the root, but not
  // below it. Returns kInvalidArgument for a path that leads through a link
  // below the root, or out of the root, and kNotFound if the root or a folder
  // of the path does not exist.
  static Result<Place> Below(const std::string& root, const std::string& path);

  // Creates the folders of `path` below `root`, which must exist. Succeeds if
  // the folders already exist.
  static Status MakeFoldersBelow(const std::string& root,
                                 const std::string& path);

  const std::string& path() const { return path_; }

  // Opens a file. Below a root, only files and folders can be opened; anything
  // else returns kInvalidArgument, because another process could, for example,
  // create a pipe to block its reader.
  Result<Descriptor> Open(const char* what, int flags, mode_t mode = 0) const;

  // Opens a folder in order to list or sync it.
  Result<Descriptor> OpenFolder(const char* what) const;

  Result<uint64_t> Size() const;

  // Renames the file atomically, replacing an existing file at `to`. A symbolic
  // link at `to` is replaced, not followed.
  Status RenameTo(const Place& to) const;

  // Syncs the folder to the device, so that created, renamed and removed names
  // survive a power loss.
  Status SyncFolder() const;

  // Removes a file, or a symbolic link itself. Returns kNotFound if it does not
  // exist.
  Status Remove() const;

  // Removes an empty folder, but never a root. Returns kNotFound if the folder
  // does not exist.
  Status RemoveFolder() const;

 private:
  Place(Descriptor folder, std::string name, std::string path, bool is_below)
      : folder_(std::move(folder)),
        name_(std::move(name)),
        path_(std::move(path)),
        is_below_(is_below) {}

  int folder() const;
  Result<Descriptor> OpenAny(const char* what, int flags, mode_t mode) const;

  // The folder that contains the file; number -1 means the working directory.
  Descriptor folder_;
  std::string name_;  // The file's name in the folder; "." for a root itself.
  std::string path_;  // The whole path, for error messages.
  // Whether the place is below a root, so that links are not followed.
  bool is_below_;
};

}  // namespace persia

#endif  // PERSIA_CC_FILES_PLACE_H_
