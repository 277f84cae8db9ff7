// Place: where a local file is: in a folder, by a name in it.
//
// A place below a root is found folder by folder, each opened in the one before
// it, and no symbolic link is followed on the way, nor at its end. So whoever
// may write there leads nobody elsewhere, not even by putting a link where a
// folder was a moment ago. openat2's RESOLVE_NO_SYMLINKS would do the same, but
// some kernels, and some containers, have no such call.
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
  // Links are followed. An absolute path, or one from the working directory.
  static Place Anywhere(const std::string& path);

  // `path` is that of the folder `root`, or it and "/" and names. Links to the
  // root are followed. kInvalidArgument for a path that leads through a link,
  // or out of the root; kNotFound if the root, or a folder on the way, is not
  // there.
  static Result<Place> Below(const std::string& root, const std::string& path);

  // Makes the folders of `path` below `root`, which must be there. One that is
  // there is no error.
  static Status MakeFoldersBelow(const std::string& root,
                                 const std::string& path);

  const std::string& path() const { return path_; }

  // A file. Below a root also kInvalidArgument for what is neither that nor a
  // folder: others may keep who opens them waiting.
  Result<Descriptor> Open(const char* what, int flags, mode_t mode = 0) const;

  // A folder, to be listed or synced.
  Result<Descriptor> OpenFolder(const char* what) const;

  Result<uint64_t> Size() const;

  // In one step; what was at `to` is replaced, and not followed.
  Status RenameTo(const Place& to) const;

  // What was done to names in its folder survives a loss of power.
  Status SyncFolder() const;

  // A file, or a link to one. kNotFound if it is not there.
  Status Remove() const;

  // An empty folder; a root stays. kNotFound if it is not there.
  Status RemoveFolder() const;

 private:
  Place(Descriptor folder, std::string name, std::string path, bool is_below)
      : folder_(std::move(folder)),
        name_(std::move(name)),
        path_(std::move(path)),
        is_below_(is_below) {}

  int folder() const;
  Result<Descriptor> OpenAny(const char* what, int flags, mode_t mode) const;

  Descriptor folder_;  // Without a number: the working directory.
  std::string name_;   // In the folder; "." of a root itself.
  std::string path_;   // For errors.
  bool is_below_;      // A root.
};

}  // namespace persia

#endif  // PERSIA_CC_FILES_PLACE_H_
