// FolderLock: keeps other processes out of a local folder.
//
// It is a lock on a file in the folder; the system releases it when this
// process ends, even by a crash. Not thread-safe.

#ifndef PERSIA_CC_FILES_FOLDER_LOCK_H_
#define PERSIA_CC_FILES_FOLDER_LOCK_H_

#include <memory>
#include <string>

#include "cc/base/clock.h"
#include "cc/base/status.h"

namespace persia {

class FolderLock {
 public:
  // Waits until `deadline` for another process to release the lock, since a
  // killed process may take a moment to end; then kFailedPrecondition, naming
  // the folder. Otherwise the errors of FileSystem. The folder must exist.
  static Result<std::unique_ptr<FolderLock>> Take(const std::string& folder,
                                                  Deadline deadline);

  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  explicit FolderLock(int file) : file_(file) {}

  const int file_;
};

}  // namespace persia

#endif  // PERSIA_CC_FILES_FOLDER_LOCK_H_
