// FilesRequest: reads, writes, lists or removes small files in the folder of a
// checkpoint, such as its manifest. Every shard can reach the folder, so one
// shard carries out the request.

#ifndef PERSIA_CC_SERVICE_FILES_REQUEST_H_
#define PERSIA_CC_SERVICE_FILES_REQUEST_H_

#include <cstdint>
#include <string>
#include <vector>

#include "cc/base/clock.h"

namespace persia {

enum class FilesAction : uint32_t {
  kWrite = 1,  // Writes `contents` to files[0], atomically.
  kRead = 2,   // Reads files[0] into `contents`.
  kList = 3,   // Lists `names` in the folder: none if it does not exist.
  kRemove = 4  // Removes `files`, then the folder if it is empty.
};

inline constexpr FilesAction kLastFilesAction = FilesAction::kRemove;

struct FilesRequest {
  // The largest file, in bytes.
  static constexpr uint64_t kMostBytes = uint64_t{16} << 20;

  Deadline deadline;
  FilesAction action = FilesAction::kList;
  std::string folder;              // Path; see PathWithin.
  std::vector<std::string> files;  // Names in the folder.
  // Output of kRead. Input of kWrite, which clears `contents` if it succeeds.
  std::vector<uint8_t> contents;

  std::vector<std::string> names;  // Output of kList.
};

}  // namespace persia

#endif  // PERSIA_CC_SERVICE_FILES_REQUEST_H_
