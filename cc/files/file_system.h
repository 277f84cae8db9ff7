// FileSystem: the interface to local files and remote storage, where
// checkpoints and recovery logs are stored.
//
// Calls wait for the storage device, without a time limit. A FileSystem is
// thread-safe, but each open file belongs to one thread at a time. Errors
// contain the path and the system's message. Their codes are kNotFound,
// kAlreadyExists, kResourceExhausted (no space is left) and kUnavailable.
//
// A FileSystem for URLs stores only whole files: Sync and Rename return
// kFailedPrecondition, and no part of a file can be read before the file is
// closed. That suffices for checkpoints, which use Finish and WriteWhole.
// Recovery logs also need Sync and Rename, so they are always kept in
// LocalFiles.

#ifndef PERSIA_CC_FILES_FILE_SYSTEM_H_
#define PERSIA_CC_FILES_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"

namespace persia {

// A file that is being written. Destroying a local file without Close closes it
// and ignores errors; destroying a file at a URL without Close discards it.
class WritableFile {
 public:
  virtual ~WritableFile() = default;

  // Appends all of `bytes`. If an error occurs, a part of the bytes may have
  // been written.
  virtual Status Append(Span<const uint8_t> bytes) = 0;

  // Flushes the appended bytes to the device, so that they survive a power
  // loss.
  virtual Status Sync() = 0;

  virtual Status Close() = 0;

  // Flushes the appended bytes to the device, so that they survive a power
  // loss, and closes the file.
  virtual Status Finish();
};

class ReadableFile {
 public:
  virtual ~ReadableFile() = default;

  // Reads the next bytes and returns their number, which is less than
  // bytes.size() only at the end of the file.
  virtual Result<size_t> Read(Span<uint8_t> bytes) = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Creates an empty file, which replaces an existing file at the same path.
  virtual Result<std::unique_ptr<WritableFile>> Create(
      const std::string& path) = 0;

  // Like Create, for a file of many megabytes that is written sequentially.
  virtual Result<std::unique_ptr<WritableFile>> CreateLarge(
      const std::string& path) {
    return Create(path);
  }

  virtual Result<std::unique_ptr<ReadableFile>> Open(
      const std::string& path) = 0;

  virtual Result<uint64_t> Size(const std::string& path) = 0;

  // Writes a small file atomically and durably: a reader finds the whole new
  // file or the whole previous one, and the new file survives a power loss.
  virtual Status WriteWhole(const std::string& path, Span<const uint8_t> bytes);

  // Flushes to the device what any process has written to the file so far, so
  // that it survives a power loss.
  virtual Status Sync(const std::string& path) = 0;

  // Renames a file atomically, replacing an existing file at `to`. The change
  // survives a power loss.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;

  // Removes a file. Succeeds if no such file exists.
  virtual Status Remove(const std::string& path) = 0;

  // Returns the names in a folder, sorted. If the folder does not exist, the
  // result is empty.
  virtual Result<std::vector<std::string>> List(const std::string& folder) = 0;

  // Creates a folder and its parents. Succeeds if they already exist.
  virtual Status MakeFolder(const std::string& folder) = 0;

  // Removes an empty folder. Succeeds if no such folder exists.
  virtual Status RemoveFolder(const std::string& folder) = 0;
};

// Returns the FileSystem of the operating system's files, which is never
// destroyed.
FileSystem* LocalFiles();

// Returns a FileSystem that accesses only files below the folder `root`: a path
// must be `root`, or `root` followed by "/" and names. Symbolic links are
// followed on the way to the root, but not below it. Calls return
// kInvalidArgument for a path that leaves the root or goes through a link below
// it, even if another process replaces folders during the call. Pipes and
// devices are not opened. MakeFolder also creates the root if necessary; no
// call removes the root.
std::unique_ptr<FileSystem> LocalFilesBelow(const std::string& root);

}  // namespace persia

#endif  // PERSIA_CC_FILES_FILE_SYSTEM_H_
