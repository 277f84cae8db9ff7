// FileSystem: where checkpoints and update logs are kept.
//
// Everything here blocks for as long as the device takes. A FileSystem is
// thread-safe; a file belongs to one thread at a time. Errors name the path and
// what the system says: kNotFound, kAlreadyExists, kResourceExhausted (no space
// is left) or kUnavailable.
//
// One of URLs keeps whole files, and no more: it knows no Sync and no Rename,
// kFailedPrecondition, and nobody may count on a file, or a part of it, before
// it is closed. That suffices for checkpoints, which use Finish and WriteWhole.
// Update logs need the rest, which LocalFiles has.

#ifndef PERSIA_CC_FILES_FILE_SYSTEM_H_
#define PERSIA_CC_FILES_FILE_SYSTEM_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cc/base/span.h"
#include "cc/base/status.h"

namespace persia {

// A file that is being written. Destroyed without Close, a local one is closed
// all the same, but nobody is told what failed; one at a URL is given up.
class WritableFile {
 public:
  virtual ~WritableFile() = default;

  // Appends all of `bytes`. After an error a part may have been written.
  virtual Status Append(Span<const uint8_t> bytes) = 0;

  // What was appended survives a loss of power once this returns.
  virtual Status Sync() = 0;

  virtual Status Close() = 0;

  // Closes it, and what was appended survives a loss of power.
  virtual Status Finish();
};

class ReadableFile {
 public:
  virtual ~ReadableFile() = default;

  // Reads on; fewer bytes than asked for only at the end of the file.
  virtual Result<size_t> Read(Span<uint8_t> bytes) = 0;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // An empty file; one that was there is replaced.
  virtual Result<std::unique_ptr<WritableFile>> Create(
      const std::string& path) = 0;

  // The same, for a file of many megabytes that is written in one go.
  virtual Result<std::unique_ptr<WritableFile>> CreateLarge(
      const std::string& path) {
    return Create(path);
  }

  virtual Result<std::unique_ptr<ReadableFile>> Open(
      const std::string& path) = 0;

  virtual Result<uint64_t> Size(const std::string& path) = 0;

  // A small file, in one step: whoever reads it finds all of it, or all of what
  // was there before. It survives a loss of power.
  virtual Status WriteWhole(const std::string& path, Span<const uint8_t> bytes);

  // What anybody has written to a file before survives a loss of power once
  // this returns.
  virtual Status Sync(const std::string& path) = 0;

  // In one step; what was at `to` is replaced. It survives a loss of power.
  virtual Status Rename(const std::string& from, const std::string& to) = 0;

  // A file. One that is not there is no error.
  virtual Status Remove(const std::string& path) = 0;

  // Names in a folder, sorted. A folder that is not there has none.
  virtual Result<std::vector<std::string>> List(const std::string& folder) = 0;

  // With those that it lies in. One that is there is no error.
  virtual Status MakeFolder(const std::string& folder) = 0;

  // An empty folder. One that is not there is no error.
  virtual Status RemoveFolder(const std::string& folder) = 0;
};

// That of the operating system. Lives for ever.
FileSystem* LocalFiles();

// The part of it that is below `root`, a folder: paths are it, or it and "/"
// and names. Links to the root are followed, and none below it: what leads
// through one, or elsewhere, is kInvalidArgument, also where somebody changes
// folders meanwhile. Nor is a pipe or a device opened. MakeFolder makes the
// root too; nothing removes it.
std::unique_ptr<FileSystem> LocalFilesBelow(const std::string& root);

}  // namespace persia

#endif  // PERSIA_CC_FILES_FILE_SYSTEM_H_
