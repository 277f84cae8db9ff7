// FolderLock: prevents other processes from using the same local folder.
//
// The lock is held on a file in the folder. The operating system releases the
// lock when this process ends, even by a crash. Not thread-safe.

#ifndef PERSIA_CC_FILES_FOLDER_LOCK_H_
#define PERSIA_CC_FILES_FOLDER_LOCK_H_

#include <memory>
#include <string>

#include "cc/base/clock.h"
#include "cc/base/status.h"

namespace persia {

class FolderLock {
 public:
  // Locks the folder, which must exist. If another process holds the lock,
  // waits until `deadline`, because a killed process may take a moment to exit;
  // then returns kFailedPrecondition, naming the folder. Other errors are those
  // of FileSystem.
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
