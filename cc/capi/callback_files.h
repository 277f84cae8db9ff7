// CallbackFiles: a FileSystem that calls functions which the user of the C
// interface provides (persia_set_files).
//
// Appended bytes are buffered, so that each callback writes megabytes.

#ifndef PERSIA_CC_CAPI_CALLBACK_FILES_H_
#define PERSIA_CC_CAPI_CALLBACK_FILES_H_

#include "cc/capi/persia.h"
#include "cc/files/file_system.h"

namespace persia {

class CallbackFiles : public FileSystem {
 public:
  explicit CallbackFiles(const persia_files& calls) : calls_(calls) {}

  Result<std::unique_ptr<WritableFile>> Create(
      const std::string& path) override;
  Result<std::unique_ptr<ReadableFile>> Open(const std::string& path) override;
  Result<uint64_t> Size(const std::string& path) override;
  Status WriteWhole(const std::string& path,
                    Span<const uint8_t> bytes) override;
  Status Sync(const std::string& path) override;
  Status Rename(const std::string& from, const std::string& to) override;
  Status Remove(const std::string& path) override;
  Result<std::vector<std::string>> List(const std::string& folder) override;
  Status MakeFolder(const std::string& folder) override;
  Status RemoveFolder(const std::string& folder) override;

 private:
  const persia_files calls_;
};

}  // namespace persia

#endif  // PERSIA_CC_CAPI_CALLBACK_FILES_H_
