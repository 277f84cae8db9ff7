// FileSystem: where checkpoints and recovery logs are stored.
//
// Everything here blocks for as long as the device takes. A FileSystem is
// thread-safe; a file belongs to one thread at a time. Errors name the path and
// the system's reason: kNotFound, kAlreadyExists, kResourceExhausted (no space
// is left) or kUnavailable.
//
// A FileSystem of URLs stores only whole files: Sync and Rename return
// kFailedPrecondition, and no caller may rely on a file, or a part of it,
// before it is closed. That suffices for checkpoints, which use Finish and
// WriteWhole. Recovery logs need the rest, which LocalFiles has.

#ifndef PERSIA_CC_FILES_FILE_SYSTEM_H_
#define PERSIA_CC_FILES_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"

namespace persia {

// A file that is being written. If it is destroyed without Close, a local file
// is closed, but its errors are lost; a file at a URL is discarded.
class WritableFile {
 public:
  virtual ~WritableFile() = default;

  // Appends all of `bytes`. After an error, part of them may have been written.
  virtual Status Append(Span<const uint8_t> bytes) = 0;

  // Makes what was appended survive a power loss.
  virtual Status Sync() = 0;

  virtual Status Close() = 0;

  // Closes the file, and makes what was appended survive a power loss.
  virtual Status Finish();
};

class ReadableFile {
 public:
  virtual ~ReadableFile() = default;

  // Reads the next bytes; fewer than asked for only at the end of the file.
  virtual Result<size_t> Read(Span<uint8_t> bytes) = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Creates an empty file, replacing an existing one.
  virtual Result<std::unique_ptr<WritableFile>> Create(
      const std::string& path) = 0;

  // The same, for a file of many megabytes that is written sequentially.
  virtual Result<std::unique_ptr<WritableFile>> CreateLarge(
      const std::string& path) {
    return Create(path);
  }

  virtual Result<std::unique_ptr<ReadableFile>> Open(
      const std::string& path) = 0;

  virtual Result<uint64_t> Size(const std::string& path) = 0;

  // Writes a small file atomically: a reader finds all of it, or all of the
  // previous file. It survives a power loss.
  virtual Status WriteWhole(const std::string& path, Span<const uint8_t> bytes);

  // Makes what any process has written to the file so far survive a power loss.
  virtual Status Sync(const std::string& path) = 0;

  // Atomic; replaces what is at `to`. Survives a power loss.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;

  // Removes a file. Succeeds if there is none.
  virtual Status Remove(const std::string& path) = 0;

  // The names in a folder, sorted; none if the folder does not exist.
  virtual Result<std::vector<std::string>> List(const std::string& folder) = 0;

  // Makes a folder and its parents. Succeeds if they exist.
  virtual Status MakeFolder(const std::string& folder) = 0;

  // Removes an empty folder. Succeeds if there is none.
  virtual Status RemoveFolder(const std::string& folder) = 0;
};

// The operating system's files. Never destroyed.
FileSystem* LocalFiles();

// The part of them below the folder `root`: a path is `root`, or `root`
// followed by "/" and names. Symbolic links are followed on the way to the
// root, but not below it: a path through a link, or out of the root, is
// kInvalidArgument, even if another process changes folders meanwhile. Pipes
// and devices are not opened. MakeFolder also makes the root; no call removes
// it.
std::unique_ptr<FileSystem> LocalFilesBelow(const std::string& root);

}  // namespace persia

#endif  // PERSIA_CC_FILES_FILE_SYSTEM_H_
