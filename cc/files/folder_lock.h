// FolderLock: keeps other processes out of a folder of this machine.
//
// It is a file in the folder that this process has locked, and the system lets
// go of it when the process ends, however that ends. Not thread-safe.

#ifndef PERSIA_CC_FILES_FOLDER_LOCK_H_
#define PERSIA_CC_FILES_FOLDER_LOCK_H_

#include <memory>
#include <string>

#include "cc/base/clock.h"
#include "cc/base/status.h"

namespace persia {

class FolderLock {
 public:
  // Waits for somebody else who has it until `deadline`, since one that was
  // killed may take a moment to end: then kFailedPrecondition, naming the
  // folder. Else the errors of FileSystem. The folder must be there.
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
