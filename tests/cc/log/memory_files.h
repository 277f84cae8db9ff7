// MemoryFiles: a FileSystem that records what a loss of power would leave, and
// fails or waits when a test says so.

#ifndef PERSIA_TESTS_CC_LOG_MEMORY_FILES_H_
#define PERSIA_TESTS_CC_LOG_MEMORY_FILES_H_

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cc/files/file_system.h"

namespace persia {

struct MemoryFile {
  std::vector<uint8_t> bytes;
  size_t synced = 0;  // The first bytes; the device has them.
};

// The files by their paths.
using MemoryImage = std::map<std::string, MemoryFile>;

// Thread-safe.
class MemoryFiles : public FileSystem {
 public:
  explicit MemoryFiles(const MemoryImage& image = {});

  MemoryImage image();

  // The next `bytes` bytes are written; then the device is full.
  void FailWritesAfter(uint64_t bytes);
  void FailSyncs();

  // From now on syncs wait.
  void HoldSyncs();
  // Waits until a sync is held; a hang fails the test.
  void WaitForHeldSync();
  void ReleaseSyncs();

  // The number of syncs so far, of files that are being written.
  int syncs();
  size_t largest_write();

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
  friend class MemoryWritableFile;

  Status Write(MemoryFile* file, Span<const uint8_t> bytes);
  Status SyncWritten(MemoryFile* file);
  std::shared_ptr<MemoryFile> Find(const std::string& path);

  std::mutex mutex_;
  std::condition_variable changed_;
  // All below: guarded by mutex_. A file keeps its bytes while it is renamed.
  std::map<std::string, std::shared_ptr<MemoryFile>> files_;
  uint64_t room_ = UINT64_MAX;
  bool fails_syncs_ = false;
  bool holds_syncs_ = false;
  int held_ = 0;
  int syncs_ = 0;
  size_t largest_write_ = 0;
};

}  // namespace persia

#endif  // PERSIA_TESTS_CC_LOG_MEMORY_FILES_H_
