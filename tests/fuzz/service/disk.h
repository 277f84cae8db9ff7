// Disk and ProcessFiles: files in memory that outlive the service that writes
// them, which may be killed at any write. Both are thread-safe.

#ifndef PERSIA_TESTS_FUZZ_SERVICE_DISK_H_
#define PERSIA_TESTS_FUZZ_SERVICE_DISK_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "cc/files/file_system.h"

namespace persia {

struct DiskFile {
  std::vector<uint8_t> bytes;
  size_t synced = 0;  // The first bytes; they survive power loss.
};

class Disk {
 public:
  std::mutex* mutex() { return &mutex_; }
  // The files by path. Guarded by mutex(). A file keeps its bytes while it is
  // renamed.
  std::map<std::string, std::shared_ptr<DiskFile>>& files() { return files_; }

  // Files below `folder` keep only the bytes that were synced.
  void LosePower(const std::string& folder);

  // Returns whether there was such a file.
  bool Remove(const std::string& path);

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<DiskFile>> files_;
};

// What one process sees of a disk. Once the process is dead, its writes are
// lost, although they still report success.
class ProcessFiles : public FileSystem {
 public:
  // Where a thread of the service can be held.
  enum Point {
    kBase,        // Before the first byte of a base.
    kCheckpoint,  // Before the first byte of a checkpoint's file.
    kPoints
  };

  explicit ProcessFiles(Disk* disk) : disk_(*disk) {}

  // The process dies after so many more writes, syncs, renames and new files.
  // If the last of these is a write, `torn` of 256 parts of it reach the disk.
  void DieAfter(uint64_t writes, uint32_t torn);
  void Die();
  bool dead();

  // From now on, threads that reach `point` wait there.
  void HoldAt(Point point);
  // Waits until a thread is held at `point`, or the process is dead; returns
  // whether a thread is held.
  bool WaitForHeld(Point point);
  void Release();

  // The number of bases that were finished.
  uint64_t bases();
  // Waits for a further base. Returns false if the process died, or after a
  // minute.
  bool WaitForBase(uint64_t more_than);

  Result<std::unique_ptr<WritableFile>> Create(
      const std::string& path) override;
  Result<std::unique_ptr<ReadableFile>> Open(const std::string& path) override;
  Result<uint64_t> Size(const std::string& path) override;
  Status Sync(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Result<std::vector<std::string>> List(const std::string& folder) override;
  Status MakeFolder(const std::string&) override { return Status(); }
  Status RemoveFolder(const std::string&) override { return Status(); }

 private:
  friend class ProcessFile;

  // These use up one of the writes that are left. Return whether it is done.
  bool TakeWrite();
  Status Append(DiskFile* file, Span<const uint8_t> bytes);
  Status SyncFile(DiskFile* file);
  void StayAt(Point point, std::unique_lock<std::mutex>* lock);
  std::shared_ptr<DiskFile> Find(const std::string& path);

  Disk& disk_;
  std::condition_variable changed_;  // Used with the disk's mutex.
  // All below are guarded by the disk's mutex.
  bool is_dead_ = false;
  uint64_t writes_left_ = ~uint64_t{0};
  uint32_t torn_ = 0;
  bool holds_[kPoints] = {};
  int held_[kPoints] = {};
  uint64_t bases_ = 0;
};

}  // namespace persia

#endif  // PERSIA_TESTS_FUZZ_SERVICE_DISK_H_
