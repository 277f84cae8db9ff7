// Place: the location of a local file, as an open folder and a name in it.
//
// A place below a root is found folder by folder, each opened relative to the
// one before; no symbolic link is followed on the way, nor at the end. So a
// process that may write there cannot redirect this one, not even by replacing
// a folder by a link at the last moment. openat2's RESOLVE_NO_SYMLINKS would do
// the same, but some kernels and containers lack it.
//
// Blocks as FileSystem does. Belongs to one thread.

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
  // An absolute path, or one relative to the working directory. Links are
  // followed.
  static Place Anywhere(const std::string& path);

  // `path` is that of the folder `root`, or `root` followed by "/" and names.
  // Links are followed on the way to the root. kInvalidArgument for a path that
  // leads through a link, or out of the root; kNotFound if the root, or a
  // folder on the way, does not exist.
  static Result<Place> Below(const std::string& root, const std::string& path);

  // Makes the folders of `path` below `root`, which must exist. Succeeds if
  // they exist.
  static Status MakeFoldersBelow(const std::string& root,
                                 const std::string& path);

  const std::string& path() const { return path_; }

  // Opens a file. Below a root, kInvalidArgument for anything but a file or a
  // folder, since another process could make a pipe, say, block its reader.
  Result<Descriptor> Open(const char* what, int flags, mode_t mode = 0) const;

  // Opens a folder, for listing or syncing.
  Result<Descriptor> OpenFolder(const char* what) const;

  Result<uint64_t> Size() const;

  // Atomic; replaces what is at `to`, and does not follow a link there.
  Status RenameTo(const Place& to) const;

  // Makes changes to the names in its folder survive a power loss.
  Status SyncFolder() const;

  // Removes a file, or a link itself. kNotFound if it does not exist.
  Status Remove() const;

  // Removes an empty folder, but never a root. kNotFound if it does not exist.
  Status RemoveFolder() const;

 private:
  Place(Descriptor folder, std::string name, std::string path, bool is_below)
      : folder_(std::move(folder)),
        name_(std::move(name)),
        path_(std::move(path)),
        is_below_(is_below) {}

  int folder() const;
  Result<Descriptor> OpenAny(const char* what, int flags, mode_t mode) const;

  Descriptor folder_;  // Number -1: the working directory.
  std::string name_;   // Within the folder; "." for a root itself.
  std::string path_;   // For errors.
  bool is_below_;      // Below a root.
};

}  // namespace persia

#endif  // PERSIA_CC_FILES_PLACE_H_
