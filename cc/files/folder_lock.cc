#include "cc/files/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

namespace persia {
namespace {

// The pause between two attempts to lock the folder.
constexpr std::chrono::milliseconds kPause(20);

}  // namespace

Result<std::unique_ptr<FolderLock>> FolderLock::Take(const std::string& folder,
                                                     Deadline deadline) {
  const std::string path = folder + "/lock";
  const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) {
    return Status(Code::kUnavailable,
                  Concat("cannot open ", path, ": ", std::strerror(errno)));
  }
  std::unique_ptr<FolderLock> lock(new FolderLock(file));
  for (;;) {
    if (::flock(file, LOCK_EX | LOCK_NB) == 0) return lock;
    if (Clock::now() >= deadline) break;
    std::this_thread::sleep_for(kPause);
  }
  return Status(Code::kFailedPrecondition,
                Concat("folder ", folder,
                       " is in use by another process: give each process a "
                       "folder of its own"));
}

FolderLock::~FolderLock() { (void)::close(file_); }

}  // namespace persia
